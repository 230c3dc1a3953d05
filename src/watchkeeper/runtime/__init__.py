"""Objects as data: schemas, the scheme of kinds, decoding, conversion, defaulting, patches, field ownership."""
