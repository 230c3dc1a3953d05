"""Programs that show how watchkeeper is used."""
