"""MXNet 2's names for what ``context`` holds: ``Device``, ``current_device``, ``cpu``, ``gpu``, ``num_gpus``."""

from gluonish.context import Device, cpu, cpu_pinned, current_device, gpu, gpu_memory_info, num_gpus

__all__ = ["Device", "cpu", "cpu_pinned", "current_device", "gpu", "gpu_memory_info", "num_gpus"]
