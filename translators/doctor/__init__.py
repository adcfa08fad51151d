"""The troubleshooting list: what an operator would look at by hand, read from the machine and judged.

It stands above the translators, as a cause often lies in what one of them reads and its effect in what another does.
Everything here only reads. No agent is asked, so that the list can be gone through while none runs.
"""
