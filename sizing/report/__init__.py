"""A sheet as others read it.

sheet ─┬─ data      JSON, with what each figure rests on
       ├─ outline ── Markdown, and html with plots
       ├─ tiers     what each storage tier is for each requirement
       └─ notes     sentences beside the headline
"""
