"""Custom resources, served: decoding, validation, storage and representation of the kinds that definitions define."""
