"""The MARTE stereotypes of UML elements (OMG MARTE 1.1). Every diagram and the XMI format read the
stereotypes from this module."""

from __future__ import annotations

# Stereotypes of a node of the deployment, and of the lifeline of a role.
NODE = ("HwComputingResource", "CommunicationEndPoint")
# Stereotype of a link between two nodes.
LINK = "CommunicationMedia"
# Stereotype of an attribute that a scenario can set.
ATTRIBUTE = "Configurable"
# Stereotypes of the hardware inside a node, by the name of the hardware part.
HARDWARE = {"Processor": "HwProcessor", "Disk": "HwDrive", "Memory": "HwRAM"}
# Stereotypes of an execution, by the kind of the resource that works. An execution without a
# resource has the kind "delay" or "step".
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
