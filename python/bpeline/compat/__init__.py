"""Drop-in faces: the interfaces of other tokenizers over bpeline. None of those need be installed."""
