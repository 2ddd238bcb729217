"""The room's functions on JSON as it lies on disk: each goes through the models."""

from tokenmill.pipelines.contamination import check, report, report_found, summary
from tokenmill.pipelines.contamination.model import Report, Summary


def check_contamination(*args):
    return check.check_contamination(*args).to_json()


def summarize(*args, **kwargs):
    return summary.summarize(*args, **kwargs).to_json()


def edited_examples(*args, **kwargs):
    return [example.to_json() for example in summary.edited_examples(*args, **kwargs)]


def found_sections(data):
    model = Report if "identity" in data else Summary
    return report_found.found_sections(model.model_validate(data))


def warnings(data):
    return report_found.warnings(Report.model_validate(data))


def sections(data):
    return report.sections(Report.model_validate(data))


def headline(data):
    return report.headline(Report.model_validate(data))


def write_report(out, data):
    return report.write_report(out, Report.model_validate(data))
