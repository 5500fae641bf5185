"""The screen: the only importer of Textual."""
