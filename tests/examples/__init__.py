"""The examples in folders of their own: their answers by the oracle, and by another database."""
