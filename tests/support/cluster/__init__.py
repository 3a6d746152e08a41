"""A real Kubernetes control plane and KEDA on one machine, without containers, and a kubelet for tests that runs pods as processes."""
