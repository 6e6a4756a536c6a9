"""A bed on hosts that is told by its file system's description."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from dfslab.beds.base import BaseBed, Notify
from dfslab.beds.cache import program
from dfslab.beds.told import check_layout, told
from dfslab.spec.deployment import Deployment


class HostedBed(BaseBed):
    """Parameters from the description, programs from Debian; `start` is the derived class's own.

    PROGRAMS maps the commands that it needs to their Debian packages; OPTIONS holds what a bed can
    be told beyond the description's parameters (a tuple: one of these, the first by default).
    """

    HOSTED = True
    PROGRAMS: ClassVar[Mapping[str, str]]
    OPTIONS: ClassVar[Mapping[str, Any]] = {}
    parameters: dict[str, Any]

    @classmethod
    def parse(cls, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters in SI units; InputError when one is wrong."""
        return told(cls.SYSTEM, parameters, cls.OPTIONS)

    @classmethod
    def check(cls, parameters: dict[str, Any], deployment: Deployment) -> None:
        """InputError when the layout is illegal on the deployment."""
        check_layout(cls.SYSTEM, parameters, deployment)

    @classmethod
    def prepare(cls, parameters: dict[str, Any], notify: Notify) -> None:
        """BedError naming the package of a program that is missing."""
        for command, package in cls.PROGRAMS.items():
            program(command, package)
