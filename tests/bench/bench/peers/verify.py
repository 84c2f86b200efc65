"""Our own peers are only worth measuring if they compute the right result."""


def verified(launch, error):
    """The launch. Raises ValueError if error(), the error relative to the bound, is too large after it."""
    launch(0)
    found = error()
    if not found <= 1:
        raise ValueError(f"wrong result: {found:.3g} times the bound")
    return launch
