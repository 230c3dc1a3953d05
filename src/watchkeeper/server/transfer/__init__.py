"""`watchkeeper export` and `watchkeeper import`: objects of a server or of a store as manifests, and back."""
