"""The options of a fio job, in three groups: options that are converted, options that need no
setting in dfslab, and options that are rejected, each with the reason."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dfslab.spec import units
from dfslab.spec.input_error import InputError, unknown
from dfslab.workloads.transfers import Mode

TIME = re.compile(r"(\d+(?:\.\d+)?)(us|ms|s|m|h|d)?")
SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
MODES: dict[str, Mode] = {
    "read": "read",
    "write": "write",
    "randread": "randread",
    "randwrite": "randwrite",
    "rw": "rw",
    "readwrite": "rw",
    "randrw": "randrw",
}


def _names(text: str) -> list[str]:
    return text.split()


# fio's I/O engines that keep one transfer in flight. The asynchronous engines (DEEP_ENGINES) are
# equivalent if their iodepth is 1.
ENGINES = ("psync", "sync", "pvsync", "pvsync2", "mmap")
DEEP_ENGINES = ("libaio", "io_uring", "posixaio")
SYNCS = {"0": "none", "none": "none", "1": "all", "sync": "all", "dsync": "data"}
ALIASES = {
    "readwrite": "rw",
    "blocksize": "bs",
    "filesize": "size",
    "io_limit": "io_size",
    "wait_for_previous": "stonewall",
    "group_reporting": "group_reporting",
    "iodepth_low": "iodepth_low",
}
HONOURED = _names(
    """
        rw bs size io_size loops numjobs thread runtime time_based ioengine iodepth direct
        buffered invalidate fsync sync directory filename rwmixread rwmixwrite norandommap
        randseed thinktime rate_iops stonewall
        """
)
# Options that are accepted and need no setting in dfslab. These options change the layout of fio's
# output, name the job, or request what dfslab always does.
NOTHING_TO_SET = _names(
    """
        name description group_reporting new_group unified_rw_reporting clat_percentiles minimal
        lat_percentiles slat_percentiles percentile_list disable_lat disable_clat disable_slat
        disable_bw_measurement gtod_reduce eta eta_newline output_format status_interval
        significant_figures randrepeat refill_buffers exitall exitall_on_error create_serialize
        disk_util bandwidth_log unlink warnings_fatal max_jobs
        """
)
CONTENTS = "contents are not compared or chosen"
SPACE = "a process has one file, which it goes through from its beginning or at random"
DEEP = "a process waits for each transfer; numjobs run at the same time"
LOGS = "no log is written; --json has the series"
FILES = "files are made with their bytes before the run and removed at its end"
TIMES = "jobs start at once and end after their bytes or their runtime"
RATES = "bytes a second are not limited; rate_iops is honoured"
BOUND = "processors, memory and priorities are not chosen"
PLACES = "clients are on this machine; docs/guide/many-nodes.md has several nodes"
DEVICES = "files in a directory are measured, no devices"
REFUSED = {
    **dict.fromkeys(
        _names(
            """
        verify do_verify verify_pattern verify_fatal verify_backlog verify_only verify_interval
        verify_offset verify_async verify_dump verify_state_save buffer_pattern zero_buffers
        buffer_compress_percentage buffer_compress_chunk dedupe_percentage dedupe_mode
        scramble_buffers
        """
        ),
        CONTENTS,
    ),
    **dict.fromkeys(
        _names(
            """
        bsrange bssplit bs_unaligned blockalign bs_is_seq_rand ba offset offset_increment
        offset_align nrfiles openfiles file_service_type filesize_range random_distribution
        random_generator percentage_random softrandommap rw_sequencer zonesize zonerange
        zoneskip zonemode number_ios size_range io_submit_mode file_append fill_device
        """
        ),
        SPACE,
    ),
    **dict.fromkeys(
        _names(
            """
        iodepth_batch iodepth_batch_complete iodepth_low iodepth_batch_complete_min
        iodepth_batch_complete_max serialize_overlap hipri sqthread_poll registerfiles fixedbufs
        nonvectored
        """
        ),
        DEEP,
    ),
    **dict.fromkeys(
        _names(
            """
        write_bw_log write_lat_log write_iops_log write_hist_log log_avg_msec log_hist_msec
        log_offset log_max_value log_compression write_iolog read_iolog replay_no_stall
        replay_redirect output per_job_logs
        """
        ),
        LOGS,
    ),
    **dict.fromkeys(
        _names(
            """
        fallocate overwrite create_only create_on_open create_fsync file_hash_type pre_read
        allow_file_create filename_format opendir unique_filename fsync_on_close end_fsync
        fdatasync write_barrier sync_file_range fadvise_hint atomic lockfile kb_base unit_base
        """
        ),
        FILES,
    ),
    **dict.fromkeys(
        _names(
            """
        startdelay ramp_time timeout trigger_file trigger steadystate ss_dur ss_ramp_time
        thinktime_blocks thinktime_spin thinktime_iotime job_start_clock_id flow flow_id
        exec_prerun exec_postrun
        """
        ),
        TIMES,
    ),
    **dict.fromkeys(
        _names(
            """
        rate rate_min rate_iops_min rate_process rate_cycle rate_ignore_thinktime latency_target
        latency_window latency_percentile max_latency
        """
        ),
        RATES,
    ),
    **dict.fromkeys(
        _names(
            """
        cpus_allowed cpumask cpus_allowed_policy numa_cpu_nodes numa_mem_policy nice prio
        prioclass cmdprio_percentage mem hugepage_size iomem iomem_align lockmem cgroup
        cgroup_weight uid gid use_os_rand cpuload cpuchunks
        """
        ),
        BOUND,
    ),
    **dict.fromkeys(["client", "server", "remote_config", "daemonize"], PLACES),
    **dict.fromkeys(
        ["trim_percentage", "trim_verify_zero", "max_open_zones", "sg_write_mode"], DEVICES
    ),
}


def canonical(key: str) -> str:
    """Returns the main name of an option. `key` is that name or an alias of it."""
    return ALIASES.get(key, key)


@dataclass
class Job:
    """A fio job. `given`: the job's options with their values as written. The path of the job file
    is "" if the job comes from a command line."""

    name: str
    given: dict[str, str] = field(default_factory=dict)
    file: str = ""

    def key(self, option: str) -> str:
        """Returns the name under which error messages mention an option of this job."""
        return f"{self.file}: [{self.name}] {option}" if self.file else f"fio.{option}"

    def text(self, option: str, default: str) -> str:
        """Returns the text of an option as it is written, or `default` if it is not given."""
        return self.given.get(option, default)

    def flag(self, option: str) -> bool:
        """Returns whether `option` is switched on. An option is on if it has the value 1 or no
        value. Raises InputError for a value other than 0 or 1."""
        text = self.given.get(option, "0")
        if text not in ("", "0", "1"):
            raise InputError(self.key(option), text, "must be 0 or 1")
        return text != "0"

    def number(self, option: str, default: int, least: int = 1) -> int:
        """Returns the value of `option`, a whole number, or `default` if the option is not given.
        Raises InputError if the value is not a whole number or is below `least`."""
        text = self.given.get(option, str(default))
        number = units.whole_number(text)
        if number is None or number < least:
            raise InputError(self.key(option), text, f"must be a whole number from {least} on")
        return number

    def time_s(self, option: str, unit_s: float) -> float:
        """Returns the value of `option`, a time, in seconds; 0 if the option is not given.
        `unit_s`: the unit of a number that is written without a unit, in seconds. Raises InputError
        if the value is not a time."""
        text = self.given.get(option, "0")
        matched = TIME.fullmatch(text)
        if matched is None:
            raise InputError(self.key(option), text, "must be a time such as 30, 30s, 5m or 500ms")
        return float(matched[1]) * (SECONDS[matched[2]] if matched[2] else unit_s)

    def mode(self) -> Mode:
        """Returns the transfer mode that the option `rw` selects, such as sequential reads or
        random writes. Raises InputError for an unknown or unsupported mode."""
        text = self.text("rw", "read")
        if text not in MODES:
            allowed = f"{unknown(text, list(MODES))}; trims and rw=…:N are not run"
            raise InputError(self.key("rw"), text, allowed)
        return MODES[text]

    def read_share(self) -> float:
        """Returns the proportion of reads among the transfers of a mixed job, from 0 to 1. Raises
        InputError if it is not in this range."""
        writes = self.number("rwmixwrite", 50, least=0)
        reads = self.number("rwmixread", 100 - writes, least=0)
        if not 0 <= reads <= 100:
            raise InputError(self.key("rwmixread"), reads, "must be a percentage, 0 to 100")
        return reads / 100

    def cache(self) -> str:
        """Returns how the job uses the page cache: "direct", "cold" or "warm".
        - "direct": direct I/O
        - "cold": the pages of the job's files are dropped before the job. As in fio, this is the
          default; the option `invalidate` = 0 switches it off.
        - "warm": otherwise. In the mode "write" also instead of "cold", because writing new data
          reads no pages.
        """
        direct = self.flag("direct") or ("buffered" in self.given and not self.flag("buffered"))
        if direct:
            return "direct"
        is_cold = self.text("invalidate", "1") in ("", "1") and self.mode() != "write"
        return "cold" if is_cold else "warm"

    def sync(self) -> str:
        """Returns what each write forces to disk before it returns: "none", "data" (as with
        O_DSYNC) or "all" (data and metadata, as with O_SYNC). Raises InputError for any other value
        of the option `sync`."""
        text = self.text("sync", "0")
        if text not in SYNCS:
            raise InputError(self.key("sync"), text, f"must be one of {', '.join(SYNCS)}")
        return SYNCS[text]

    def directory(self) -> str:
        """Returns the directory of the job's files. The options `directory` and `filename` name it;
        the result is "" if neither is given. Raises InputError if an option names a device or
        several files, or if several processes would use one file name."""
        named = self.given.get("filename", "")
        if named:
            path = Path(self.text("directory", "")) / named
            if ":" in named or self.number("numjobs", 1) > 1 or str(path).startswith("/dev/"):
                allowed = "must be one regular file of one process; use directory with numjobs"
                raise InputError(self.key("filename"), named, allowed)
            return str(path.parent)
        return self.text("directory", "")

    def notes(self) -> list[str]:
        """Returns notes on the differences between this run and a run of the same job by fio."""
        found = []
        if "write" in self.mode() or "rw" in self.mode():
            found.append("writes replace bytes of files that exist, as with overwrite=1")
        if self.text("ioengine", "psync") in DEEP_ENGINES:
            found.append("transfers are made by pread and pwrite, one at a time")
        return found


def checked(job: Job) -> Job:
    """Returns the job unchanged if all its options can be converted. Otherwise raises InputError.
    The error names each option that cannot be converted, and the reason."""
    refused: dict[str, str] = {}
    for key, value in job.given.items():
        if key in REFUSED:
            refused[key] = REFUSED[key]
        elif key not in HONOURED and key not in NOTHING_TO_SET:
            known = [*HONOURED, *NOTHING_TO_SET, *REFUSED]
            raise InputError(job.key(key), value, unknown_option(key, known))
        elif "${" in value or "%" in value:
            raise InputError(job.key(key), value, "must be the value itself")
    if refused:
        reasons = "; ".join(f"{option}: {reason}" for option, reason in refused.items())
        raise InputError(job.key(" ".join(refused)), None, f"is not honoured: {reasons}")
    engine, depth = job.text("ioengine", "psync"), job.number("iodepth", 1)
    if engine not in (*ENGINES, *DEEP_ENGINES):
        allowed = f"must be one of {', '.join((*ENGINES, *DEEP_ENGINES))}"
        raise InputError(job.key("ioengine"), engine, allowed)
    if depth != 1 and engine in DEEP_ENGINES:
        raise InputError(job.key("iodepth"), depth, f"must be 1: {DEEP}")
    if job.number("fsync", 0, least=0) > 1:
        raise InputError(job.key("fsync"), job.text("fsync", ""), "must be 0, or 1: each write")
    return job


def unknown_option(key: str, known: Sequence[str]) -> str:
    """Returns the error text for an option that fio 3 does not have, with a similarly named option
    as a hint."""

    close = difflib.get_close_matches(key, known, n=1)
    return f"is no option of fio that is known{f'; did you mean {close[0]}?' if close else ''}"
