"""What the hosts do besides: load data, reach the network, import software; and what it costs."""

from typing import Annotated

from tokenmill.sizing.plan.fields import OUR_CHOICE, Assumed, Count, Duration, Section, Size
from tokenmill.sizing.tables.row import BitRate, NotNegative, Positive, Share, Whole


class Loaders(Section):
    """sample_cpu_s: CPU seconds to make one sample or sequence ready, where measured."""

    workers_per_accelerator: Annotated[Whole, Assumed("workers", "Bekman: 2 to 3")] = 2
    sample_cpu_s: Annotated[Duration | None, Assumed("s", "not measured")] = None
    prefetch: Annotated[Whole, Assumed("batches", "PyTorch DataLoader's default")] = 2
    buffer_sequences: Annotated[
        Whole, Assumed("sequences", f"{OUR_CHOICE}: shuffled by each worker")
    ] = 1024


class Network(Section):
    """efficiency: of the speed that is sold.  ingest_bytes: to fetch; None is the raw input."""

    efficiency: Annotated[Share, Assumed("fraction", "Bekman: at most 80 % of advertised")] = 0.8
    ingest_bits_per_s: Annotated[BitRate, Assumed("bits/s", OUR_CHOICE)] = 100e9
    ingest_bytes: Annotated[Size | None, Assumed("bytes", "the raw input")] = None


class Imports(Section):
    """Starting a job opens every file of its Python environment on every process at once."""

    files_per_process: Annotated[
        Count, Assumed("files", f"{OUR_CHOICE}: a PyTorch environment", verified=False)
    ] = 20_000.0
    metadata_ops_per_s: Annotated[
        Positive, Assumed("operations/s", f"{OUR_CHOICE}: one NFS server", verified=False)
    ] = 50_000.0


class Prices(Section):
    """In US dollars."""

    accelerator_hour: Annotated[
        NotNegative, Assumed("USD/hour", f"{OUR_CHOICE}: a rented H100", verified=False)
    ] = 2.0
    storage_tb_month: Annotated[
        NotNegative, Assumed("USD/TB/month", f"{OUR_CHOICE}: object storage", verified=False)
    ] = 23.0
    get_per_1000: Annotated[
        NotNegative, Assumed("USD/1,000 requests", "Amazon S3 Standard", verified=False)
    ] = 0.0004
    egress_per_gb: Annotated[
        NotNegative, Assumed("USD/GB", "a cloud's list price to the internet", verified=False)
    ] = 0.09
