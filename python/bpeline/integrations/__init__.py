"""bpeline in the engines that run on many machines: `bpeline.integrations.ray`, `bpeline.integrations.spark`."""
