"""The link to exactly this state, and its QR code for a class."""

import io
import ipaddress
import socket
from urllib.parse import urlencode, urlsplit, urlunsplit

import segno
import streamlit as st

from ui import links, tasks


def draw_share(_, page: str) -> None:
    popover = st.popover(_("Share"), icon=":material/share:", width="stretch", on_change="rerun", key="share")
    if popover.open:
        with popover:
            params = links.query_params(page)
            link, local = share_link(st.context.url or "", params, _network_address())
            st.code(link, language=None, wrap_lines=True)
            if local:
                st.warning(_("This address works on this computer only: phones cannot reach it."))
            if params.get("task") == tasks.OWN:
                st.warning(_("Your own task is too large for a link: download it and share the file."))
            image = io.BytesIO()
            segno.make(link).save(image, kind="png", scale=6, border=4)
            st.image(
                image.getvalue(), caption=_("Scan to open the same state"), alt=_("QR code of the link"), width=260
            )


def share_link(url: str, params: dict[str, str], network_address: str | None) -> tuple[str, bool]:
    """The link, with this machine's network address in place of localhost, and whether it stays local."""
    parts = urlsplit(url)
    host, local = parts.hostname or "localhost", False
    if is_loopback(host):
        local = network_address is None
        host = network_address or host
    netloc = (f"[{host}]" if ":" in host else host) + (f":{parts.port}" if parts.port else "")
    return urlunsplit((parts.scheme or "http", netloc, parts.path, urlencode(params), "")), local


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _network_address() -> str | None:
    """This machine's address in its own network, if it has one and the server listens there."""
    bound = st.get_option("server.address")
    if bound and is_loopback(bound):
        return None
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect(("192.0.2.1", 9))  # UDP: picks the outgoing interface, sends nothing
            address = probe.getsockname()[0]
    except OSError:
        return None
    return None if is_loopback(address) else address
