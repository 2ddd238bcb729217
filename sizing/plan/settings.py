"""Sections of a plan: model, training, cluster, checkpoints, storage, and what hosts do besides."""

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from tokenmill.sizing.plan.fields import (
    OUR_CHOICE,
    Assumed,
    Count,
    Duration,
    Redundancy,
    Section,
    Size,
    Tokens,
)
from tokenmill.sizing.tables import (
    ACCESS,
    RECIPES,
    BitRate,
    ByteRate,
    FlopRate,
    Growth,
    MaybeShare,
    NotNegative,
    Positive,
    Ratio,
    Share,
    Whole,
)

LEAST_PARAMS = 1e6  # of a model that is sized; fewer lack their unit


class Model(Section):
    """params: of the whole model.

    active_params: that work on each token, for a mixture of experts; None is all.
    layers, hidden: with them attention's FLOPs are counted too.  hidden: its width, the heads'
    together.  heads, kv_heads, head_dim: with layers, for the KV cache; heads x head_dim, where
    stated, is the width of attention in place of hidden.
    seq_len: tokens of a sequence in training.
    """

    params: Annotated[Count, Assumed("parameters", OUR_CHOICE)] = 8e9
    active_params: Annotated[Count | None, Assumed("parameters", "all of them")] = None
    layers: Annotated[Whole | None, Assumed("layers", "not counted")] = None
    hidden: Annotated[Whole | None, Assumed("dimensions", "not counted")] = None
    heads: Annotated[Whole | None, Assumed("heads", "not counted")] = None
    kv_heads: Annotated[Whole | None, Assumed("heads", "as many as heads")] = None
    head_dim: Annotated[Whole | None, Assumed("dimensions", "hidden / heads")] = None
    seq_len: Annotated[Whole, Assumed("tokens", "Llama 3 8B")] = 8192

    def merged(self, own: Section) -> Section:
        """As of any section; but with other params it is another model, in all but seq_len."""
        if own.model_dump(exclude_unset=True).get("params", self.params) == self.params:
            return super().merged(own)
        shared = {name: getattr(self, name) for name in self.model_fields_set & {"seq_len"}}
        return Section.merged(Model(**shared), own)

    @model_validator(mode="after")
    def _params_have_their_unit(self) -> "Model":
        for key in ("params", "active_params"):
            value = getattr(self, key)
            if value is not None and value < LEAST_PARAMS:
                meant = f"{value:g}B" if value < 1000 else "13B"
                raise ValueError(f"{key} {value:g} are too few for a model; write {meant}")
        return self

    @model_validator(mode="after")
    def _active_are_some_of_all(self) -> "Model":
        if self.active_params is not None and self.active_params > self.params:
            raise ValueError(
                f"active_params {self.active_params:g} are more than params {self.params:g}"
            )
        return self

    @model_validator(mode="after")
    def _heads_go_round(self) -> "Model":
        if self.heads and self.kv_heads and self.heads % self.kv_heads:
            raise ValueError(f"kv_heads {self.kv_heads} do not divide heads {self.heads}")
        return self


class Training(Section):
    """tokens: seen in training, repeats counted; None is days' worth, or the corpus times `epochs`.

    days: that training takes, in place of tokens.  epochs: times that the corpus is seen.
    recompute_frac: of the forward pass done again for the backward pass; 1 is full.
    batch_tokens: of one step of the whole job.  data_parallel: replicas of the weights.
    access: how sequences are read, a row of the table of access patterns.
    read_ahead: of the kernel, around what a memory map is asked for.
    read_amplification: bytes fetched from storage for each byte used, in place of the table's.
    sequences_per_read: that lie in a row and are fetched at once; of images with text, samples.
    memory_bytes_per_param: that accelerators hold of weights, gradients and optimizer; fewer with
    an 8-bit optimizer (8 to 12), or LoRA (little over 2).
    """

    tokens: Annotated[Tokens | None, Assumed("tokens", "the corpus times epochs")] = None
    days: Annotated[Positive | None, Assumed("days", "as long as it takes")] = None
    epochs: Annotated[Positive, Assumed("epochs", OUR_CHOICE)] = 1.0
    recompute_frac: Annotated[MaybeShare, Assumed("fraction", f"{OUR_CHOICE}: none")] = 0.0
    batch_tokens: Annotated[Count, Assumed("tokens", f"{OUR_CHOICE}: 2^22")] = float(2**22)
    data_parallel: Annotated[
        Whole | None,
        Assumed(
            "replicas",
            "one for each node, or for as many nodes as hold it in training; divided among all"
            " (ZeRO, FSDP) more would fit: state it",
        ),
    ] = None
    access: Annotated[str, Assumed("name", f"{OUR_CHOICE}: Arrow record batches in order")] = (
        "sequential"
    )
    read_ahead: Annotated[
        Size, Assumed("bytes", "Linux's default; a device's own is its read_ahead_kb")
    ] = 131_072.0
    read_amplification: Annotated[Ratio | None, Assumed("ratio", "the access pattern's")] = None
    sequences_per_read: Annotated[Whole, Assumed("sequences", OUR_CHOICE)] = 1
    memory_bytes_per_param: Annotated[
        Positive,
        Assumed("bytes/parameter", "Bekman: 6 weights, 4 gradients, 8 Adam's moments"),
    ] = 18.0

    @model_validator(mode="after")
    def _one_length(self) -> "Training":
        if "epochs" in self.model_fields_set:
            for other in ("tokens", "days"):
                if getattr(self, other) is not None:
                    raise ValueError(
                        f"{other} and epochs are both given; give one, the other follows"
                    )
        return self

    @model_validator(mode="after")
    def _access_is_known(self) -> "Training":
        ACCESS.find(self.access)
        return self


_TABLE = "the accelerator's"


class Cluster(Section):
    """accelerator: a row of the table, or of the plan's own.

    count: in the whole job.  mfu: model FLOPs utilization.  mfu_of: the peak that mfu or hfu is a
    share of, to be said where precision is fp8.

    dense_flops_per_s, per_node, hbm, scale_out_bits_per_s: in place of the table's.
    precision: of the arithmetic; with fp8 the accelerator's peak in FP8 counts.
    hfu: hardware FLOPs utilization, recomputation counted, in place of mfu.
    scale_out_bits_per_s: of one accelerator's share of its node's network.
    mttf_hours: mean time to failure of one accelerator and what belongs to it.
    host_memory, host_cores: of one node.
    """

    accelerator: Annotated[str, Assumed("name", OUR_CHOICE)] = "H100 SXM"
    dense_flops_per_s: Annotated[FlopRate | None, Assumed("FLOP/s", _TABLE)] = None
    precision: Annotated[Literal["bf16", "fp8"], Assumed("name", OUR_CHOICE)] = "bf16"
    count: Annotated[Whole, Assumed("accelerators", OUR_CHOICE)] = 1024
    per_node: Annotated[Whole | None, Assumed("accelerators", _TABLE)] = None
    mfu: Annotated[
        Share | None,
        Assumed(
            "fraction",
            "0.4 of the BF16 peak (Llama 3 405B), 0.173 of FP8's (DeepSeek-V3), one run each",
        ),
    ] = None
    mfu_of: Annotated[
        Literal["bf16", "fp8"] | None, Assumed("name", "that of precision, where no mfu is stated")
    ] = None
    hfu: Annotated[Share | None, Assumed("fraction", "mfu is used")] = None
    hbm: Annotated[Size | None, Assumed("bytes", _TABLE)] = None
    scale_out_bits_per_s: Annotated[BitRate | None, Assumed("bits/s", _TABLE)] = None
    mttf_hours: Annotated[
        Positive,
        Assumed("hours", "MLCommons Storage; Llama 3: 419 failures of 16,384 in 54 days, 50,677 h"),
    ] = 50_000.0
    host_memory: Annotated[Size, Assumed("bytes", "AWS p5.48xlarge")] = 2048.0 * 1024**3
    host_cores: Annotated[Whole, Assumed("cores", "AWS p5.48xlarge: 192 vCPU")] = 192

    @model_validator(mode="after")
    def _one_utilization(self) -> "Cluster":
        if self.hfu is not None and "mfu" in self.model_fields_set:
            raise ValueError("mfu and hfu are both given; give one, the other follows")
        stated = next((key for key in ("mfu", "hfu") if getattr(self, key) is not None), None)
        unsaid = self.mfu_of is None and self.dense_flops_per_s is None
        if stated and self.precision == "fp8" and unsaid:
            raise ValueError(
                f"{stated} {getattr(self, stated):g} with precision: fp8 is of which peak? write"
                " mfu_of: fp8, or mfu_of: bf16"
            )
        return self


class Checkpoints(Section):
    """recipe: what is written, a row of the table.  bytes_per_param: in place of the table's.

    mode: sync, training waits until all is written; async, until it is copied to host memory.
    interval_s: from one to the next.  most_interval_s: of one that is not stated, however seldom
    the job fails.  stall_frac: of the time that training may wait for them.
    drain_frac: of the interval in which an asynchronous one must be written.
    write_bytes_per_s: that storage takes from the whole job, where known.
    keep_last: to restart from.  keep_every_s: one is kept for ever each so many seconds.
    keep_forever: others never deleted, the final one included.
    restart_s: from a failure to the first new step, loading included.
    restart_load_frac: of it, that may be loading; where neither is stated, no less than a
    checkpoint may take to write, up to ten minutes and 1 % of the time between failures.
    broadcast: one replica reads the weights and sends them to the others.
    host_copy_bytes_per_s: of one accelerator's memory to its host's.
    """

    recipe: Annotated[str, Assumed("name", OUR_CHOICE)] = "bf16+adam"
    bytes_per_param: Annotated[Positive | None, Assumed("bytes/parameter", "the recipe's")] = None
    mode: Annotated[Literal["sync", "async"], Assumed("name", OUR_CHOICE)] = "sync"
    interval_s: Annotated[
        Duration | None,
        Assumed("s", "Young's optimum for the plan's failures, within the run and most_interval_s"),
    ] = None
    most_interval_s: Annotated[
        Duration, Assumed("s", f"{OUR_CHOICE}: as BLOOM on 384 A100 (Bekman)")
    ] = 10_800.0
    stall_frac: Annotated[
        Share, Assumed("fraction", f"{OUR_CHOICE}: ten minutes at most for one")
    ] = 0.05
    drain_frac: Annotated[Share, Assumed("fraction", OUR_CHOICE)] = 0.1
    write_bytes_per_s: Annotated[ByteRate | None, Assumed("bytes/s", "not known")] = None
    keep_last: Annotated[Whole, Assumed("checkpoints", OUR_CHOICE)] = 3
    keep_every_s: Annotated[Duration | None, Assumed("s", f"{OUR_CHOICE}: none")] = None
    keep_forever: Annotated[Whole, Assumed("checkpoints", "the final one")] = 1
    restart_s: Annotated[
        Duration, Assumed("s", "Lockwood: 90 % uptime at a failure each 2.5 h means 16.7 minutes")
    ] = 1000.0
    restart_load_frac: Annotated[
        MaybeShare, Assumed("fraction", f"{OUR_CHOICE}: of restart_s that may be loading")
    ] = 0.1
    broadcast: Annotated[bool, Assumed("yes or no", "MegaScale, arXiv:2402.15627")] = True
    host_copy_bytes_per_s: Annotated[
        ByteRate, Assumed("bytes/s", f"{OUR_CHOICE}: under half of PCIe 5.0 x16", verified=False)
    ] = 25e9

    @model_validator(mode="after")
    def _recipe_is_known(self) -> "Checkpoints":
        if self.bytes_per_param is None:
            RECIPES.find(self.recipe)
        return self


def _names(value: Any) -> Any:
    """One name is a list of one."""
    return [value] if isinstance(value, str) else value


class Hot(Section):
    """A fast pool before the store that the capacity is of.

    bytes: of the pool; without it the least that must be hot.  window_s: of training, that it has
    ready.  streams: what was read makes room for what comes; else what is hot stays hot.
    cold_bytes_per_s: that the store behind it gives the whole job, where known.
    usd_per_tb_month: of the pool.
    """

    bytes: Annotated[Size | None, Assumed("bytes", "the least that must be hot")] = None
    window_s: Annotated[Duration, Assumed("s", f"{OUR_CHOICE}: an outage of ten minutes")] = 600.0
    streams: Annotated[bool, Assumed("yes or no", OUR_CHOICE)] = True
    cold_bytes_per_s: Annotated[ByteRate | None, Assumed("bytes/s", "not known")] = None
    usd_per_tb_month: Annotated[NotNegative | None, Assumed("USD/TB/month", "not known")] = None


class Other(Section):
    """name: by which the sheet calls it.  bytes: that it takes."""

    name: Annotated[str, Assumed("name", "")]
    bytes: Annotated[Size, Assumed("bytes", "")]


class Storage(Section):
    """fill_frac: of usable capacity that may be used.

    growth_frac: of what is stored, a year.  growth_years: for which it grows.
    redundancy: "8+2" for data + parity, "3 replicas", "none".
    token_versions: tokenized copies kept, as of several tokenizers or mixes.
    holds: what is bought for: dataset; checkpoints, with logs of training; inputs, the files that
    come in; scratch, what preparing writes besides the dataset.
    others: what else it holds, as homes, evaluation, or inputs of the next corpus.
    hot: a fast pool before it.
    logs: that the whole job leaves.
    shard_bytes: of one output file.
    node_share: of the dataset, that each node's own drives hold; 1 / nodes is a shard.
    candidates: tiers to judge; all of the table where none is named.
    request_bytes: fetched by one request from an object store.
    page_cache_frac: of the hosts' memory that holds pages of the dataset.
    read_bytes_per_s: that storage gives the whole job, where known.
    """

    fill_frac: Annotated[
        Share,
        Assumed(
            "fraction", "Bekman: expect 80 % of what is sold; stores fail before they are full"
        ),
    ] = 0.8
    redundancy: Annotated[
        Redundancy, Assumed("ratio", f"{OUR_CHOICE}: two drives may fail; Aurora has 16+2")
    ] = "8+2"
    growth_frac: Annotated[Growth, Assumed("fraction", f"{OUR_CHOICE}: no growth")] = 0.0
    growth_years: Annotated[Positive, Assumed("years", OUR_CHOICE)] = 1.0
    token_versions: Annotated[Whole, Assumed("versions", OUR_CHOICE)] = 1
    holds: Annotated[
        tuple[Literal["dataset", "checkpoints", "inputs", "scratch"], ...],
        Assumed("names", f"{OUR_CHOICE}: what training needs"),
        BeforeValidator(_names),
        Field(strict=False, min_length=1),
    ] = ("dataset", "checkpoints")
    others: Annotated[
        tuple[Other, ...], Assumed("list", f"{OUR_CHOICE}: nothing"), Field(strict=False)
    ] = ()
    hot: Annotated[Hot | None, Assumed("settings", "none")] = None
    logs: Annotated[
        Size | None, Assumed("bytes", "1 MB for each accelerator and day", verified=False)
    ] = None
    node_share: Annotated[Share, Assumed("fraction", f"{OUR_CHOICE}: all of it")] = 1.0
    shard_bytes: Annotated[Size, Assumed("bytes", "tokenmill's output.shard_bytes")] = 512e6
    candidates: Annotated[
        tuple[str, ...],
        Assumed("names", "every tier of the table"),
        BeforeValidator(_names),
        Field(strict=False),
    ] = ()
    request_bytes: Annotated[Size, Assumed("bytes", f"{OUR_CHOICE}: 64 MiB")] = 64.0 * 1024**2
    page_cache_frac: Annotated[MaybeShare, Assumed("fraction", OUR_CHOICE)] = 0.25
    read_bytes_per_s: Annotated[ByteRate | None, Assumed("bytes/s", "not known")] = None


class Loaders(Section):
    """workers_per_accelerator: processes that make batches ready.

    sample_cpu_s: CPU seconds to make one sample or sequence ready, where measured.
    prefetch: batches that each worker has ready.
    buffer_sequences: that each worker holds, to shuffle them.
    """

    workers_per_accelerator: Annotated[Whole, Assumed("workers", "Bekman: 2 to 3")] = 2
    sample_cpu_s: Annotated[Duration | None, Assumed("s", "not measured")] = None
    prefetch: Annotated[Whole, Assumed("batches", "PyTorch DataLoader's default")] = 2
    buffer_sequences: Annotated[
        Whole, Assumed("sequences", f"{OUR_CHOICE}: shuffled by each worker")
    ] = 1024


class Network(Section):
    """efficiency: of the speed that is sold.

    ingest_bits_per_s: of the link that the raw input comes by.
    ingest_bytes: to fetch; None is the raw input.
    """

    efficiency: Annotated[Share, Assumed("fraction", "Bekman: at most 80 % of advertised")] = 0.8
    ingest_bits_per_s: Annotated[BitRate, Assumed("bits/s", OUR_CHOICE)] = 100e9
    ingest_bytes: Annotated[Size | None, Assumed("bytes", "the raw input")] = None


class Imports(Section):
    """Starting a job opens every file of its Python environment on every process at once.

    files_per_process: that one process opens.  metadata_ops_per_s: that storage does.
    """

    files_per_process: Annotated[
        Count, Assumed("files", f"{OUR_CHOICE}: a PyTorch environment", verified=False)
    ] = 20_000.0
    metadata_ops_per_s: Annotated[
        Positive, Assumed("operations/s", f"{OUR_CHOICE}: one NFS server", verified=False)
    ] = 50_000.0


class Prices(Section):
    """In US dollars.

    accelerator_hour: of one accelerator.
    storage_tb_month: of a TB that is billed, for a month.  storage_billed: what is: bytes stored,
    as of object stores; usable capacity, as of file systems in clouds; raw, as of drives.
    get_per_1000, put_per_1000: requests to an object store.
    egress_per_gb: that leaves a cloud.  egress: whether what training reads does.
    """

    accelerator_hour: Annotated[
        NotNegative, Assumed("USD/hour", f"{OUR_CHOICE}: a rented H100", verified=False)
    ] = 2.0
    storage_tb_month: Annotated[
        NotNegative, Assumed("USD/TB/month", f"{OUR_CHOICE}: object storage", verified=False)
    ] = 23.0
    storage_billed: Annotated[
        Literal["stored", "usable", "raw"], Assumed("name", "object stores bill what is stored")
    ] = "stored"
    get_per_1000: Annotated[
        NotNegative, Assumed("USD/1,000 requests", "Amazon S3 Standard", verified=False)
    ] = 0.0004
    put_per_1000: Annotated[
        NotNegative, Assumed("USD/1,000 requests", "Amazon S3 Standard", verified=False)
    ] = 0.005
    egress: Annotated[bool, Assumed("yes or no", f"{OUR_CHOICE}: storage is by the cluster")] = (
        False
    )
    egress_per_gb: Annotated[
        NotNegative, Assumed("USD/GB", "a cloud's list price to the internet", verified=False)
    ] = 0.09


class ImageText(Section):
    """Samples of images with text; without any stated figure, a captioned photograph.

    image_bytes: of one as stored.  images_per_sample: that share a text.
    tokens_per_image: that the model sees of it.
    text_tokens, text_bytes: of one sample.
    """

    image_bytes: Annotated[Size, Assumed("bytes", f"{OUR_CHOICE}: a JPEG photograph")] = 250e3
    images_per_sample: Annotated[Positive, Assumed("images", OUR_CHOICE)] = 1.0
    tokens_per_image: Annotated[Count, Assumed("tokens", f"{OUR_CHOICE}: 32 x 32 patches")] = 1024.0
    text_tokens: Annotated[NotNegative, Assumed("tokens", OUR_CHOICE)] = 100.0
    text_bytes: Annotated[
        NotNegative, Assumed("bytes", "4 bytes a token, English web text (OpenAI, Lockwood)")
    ] = 400.0


class Corpus(Section):
    """What is stored of a corpus, and measured facts in its place where there are any.

    path: of a run directory, report.json or estimate.json, relative to the plan's folder.
    tokens: to store, each counted once; where others were measured, stages grow with documents or
    tokens, by the measured growth of duplicates.
    text_bytes_per_token: bytes of UTF-8.  tokens_per_doc: on average.
    stored_bytes_per_token: of a dataset that was prepared elsewhere.
    vocab_size: of the tokenizer; decides the width of a token id unless that is given.
    token_width_bytes: of a token id as stored.
    kept_frac: of the documents that come in, those that reach the tokenizer.
    compression_ratio: of the text that comes in to its files.
    raw_bytes: of the files that come in, if known.
    image_text: what a sample has, of a corpus of images with text.
    tokens_per_image: that the model sees, where a run was measured with a placeholder for each.
    """

    path: Annotated[Path | None, Assumed("path", "nothing was measured"), Field(strict=False)] = (
        None
    )
    tokens: Annotated[Tokens | None, Assumed("tokens", "those measured, else 20 a parameter")] = (
        None
    )
    text_bytes_per_token: Annotated[
        Positive, Assumed("bytes/token", "English web text, a rule of thumb (OpenAI, Lockwood)")
    ] = 4.0
    stored_bytes_per_token: Annotated[
        Positive | None, Assumed("bytes/token", "its token ids, with its images if any")
    ] = None
    token_width_bytes: Annotated[
        Whole | None,
        Assumed("bytes/token", "2 for vocabularies under 65,500, else 4 (Megatron-LM)"),
    ] = None
    vocab_size: Annotated[Whole, Assumed("tokens", "Llama 3")] = 128_256
    tokens_per_doc: Annotated[
        Ratio, Assumed("tokens/document", f"{OUR_CHOICE}: web pages", verified=False)
    ] = 700.0
    kept_frac: Annotated[
        Share,
        Assumed(
            "fraction", f"{OUR_CHOICE}: two of three web documents are removed", verified=False
        ),
    ] = 1 / 3
    compression_ratio: Annotated[
        Positive,
        Assumed("ratio", "measured for this project: gzip -6, C4 2.6, documentation 3.7 to 4.1"),
    ] = 2.6
    raw_bytes: Annotated[
        Size | None, Assumed("bytes", "the text of all documents that come in, compressed")
    ] = None
    image_text: Annotated[ImageText | None, Assumed("samples", "text only")] = None
    tokens_per_image: Annotated[Count | None, Assumed("tokens", "as measured")] = None

    def merged(self, own: Section) -> Section:
        """As of any section; but with another path it is another corpus, in all."""
        path = own.model_dump(exclude_unset=True).get("path", self.path)
        return super().merged(own) if path == self.path else Section.merged(Corpus(), own)


class Source(Corpus):
    """One of several corpora that are mixed.

    name: by which keys and figures call it.
    weight: share of the training tokens, relative to the other sources' weights.
    epochs: times that it is seen; of all sources either weights are given, or epochs.
    """

    name: Annotated[str, Assumed("name", "")]
    weight: Annotated[Positive | None, Assumed("ratio", "as its tokens")] = None
    epochs: Annotated[Positive | None, Assumed("epochs", "training.epochs")] = None

    @model_validator(mode="after")
    def _name_can_be_a_key(self) -> "Source":
        if not self.name or not self.name.replace("-", "").replace("_", "").isalnum():
            raise ValueError(
                f"{self.name!r} is no name of a source; write letters, digits, - and _"
            )
        if self.weight is not None and self.epochs is not None:
            raise ValueError(f"source {self.name!r} has a weight and epochs; give one")
        return self


class Job(Section):
    """One that runs beside the plan's own, and is like it but for what it states.

    Of a model of other params only seq_len is the plan's, of a corpus of another path nothing.
    name: by which figures call it.  copies: that run at the same time.
    """

    name: Annotated[str, Field(min_length=1), Assumed("name", "")]
    copies: Annotated[Whole, Assumed("jobs", OUR_CHOICE)] = 1
    corpus: Corpus = Corpus()
    model: Model = Model()
    cluster: Cluster = Cluster()
    training: Training = Training()
    checkpoints: Checkpoints = Checkpoints()
