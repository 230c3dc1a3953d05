"""The cache in front of a store: answers GET, LIST and WATCH from memory and passes writes on."""
