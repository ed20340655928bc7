"""stretto: flows learned by counting; its parts arrive with the next releases."""
