"""Structure search: which branches, readouts, orders and models agree best with people, and at what cost."""
