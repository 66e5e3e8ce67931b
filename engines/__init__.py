"""Where LM calls run: model strings, the embedded server, the probability readout, the ledger and the batch runner."""
