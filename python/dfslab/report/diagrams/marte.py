"""The MARTE stereotypes of UML elements (OMG MARTE 1.1). Every diagram and the XMI format read the
stereotypes from this module."""

from __future__ import annotations

# Of a node of the deployment, and of the lifeline of a role.
NODE = ("HwComputingResource", "CommunicationEndPoint")
# Of a link between two nodes.
LINK = "CommunicationMedia"
# Of an attribute that a scenario can set.
ATTRIBUTE = "Configurable"
# Of the hardware inside a node, by the name of the part.
HARDWARE = {"Processor": "HwProcessor", "Disk": "HwDrive", "Memory": "HwRAM"}
# Of an execution, by the kind of the resource that works. A delay uses no resource.
EXECUTION = {
    "cpu": "PaStep",
    "disk": HARDWARE["Disk"],
    "nic": "HwMedia",
    "memory": HARDWARE["Memory"],
    "lock": "SwMutualExclusionResource",
    "threads": "SwSchedulableResource",
    "delay": "TimedProcessing",
    "step": "PaStep",
}
