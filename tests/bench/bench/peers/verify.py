"""Our own peers are only worth measuring if they compute the right result."""


def verified(launch, error, limit=1):
    """The launch. Raises ValueError if error(), relative to the bound, is above `limit` after it."""
    launch(0)
    found = error()
    if not found <= limit:
        raise ValueError(f"wrong result: {found:.3g} times the bound")
    return launch
