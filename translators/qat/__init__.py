"""The subtree ``qat``: QuickAssist devices under the out-of-tree driver's qat_service."""
