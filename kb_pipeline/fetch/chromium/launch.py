"""How one Chromium is started: its flags, its folder, and the keeper that ends it."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

KEEPER: Final = Path(__file__).with_name("keeper.py")

_FEATURES_OFF: Final = (
    # What would make requests of its own, or upgrade an address behind our back.
    "AimEnabled",
    "AutofillServerCommunication",
    "CertificateTransparencyComponentUpdater",
    "HttpsFirstBalancedModeAutoEnable",
    "HttpsUpgrades",
    "LensOverlay",
    "MediaRouter",
    "NetworkTimeServiceQuerying",
    "OptimizationHints",
    "PreconnectToSearch",
    "Prerender2",
    "SafeBrowsing",
    "SpeculationRules",
    "Translate",
    # What the driver expects to be off.
    "AvoidCorsURLLoaderRestartOnRedirect",
    "AvoidUnnecessaryBeforeUnloadCheckSync",
    "DestroyProfileOnBrowserClose",
    "PaintHolding",
    "ThirdPartyStoragePartitioning",
    # Multicast DNS of WebRTC.
    "WebRtcHideLocalIpsWithMdns",
)
_FLAGS: Final = (
    "--headless",
    "--remote-debugging-pipe",
    "--no-startup-window",
    "--no-first-run",
    "--no-default-browser-check",
    "--no-pings",
    "--no-service-autorun",
    "--hide-scrollbars",
    "--mute-audio",
    "--allow-pre-commit-input",
    "--disable-back-forward-cache",
    "--disable-background-networking",
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-breakpad",
    "--disable-client-side-phishing-detection",
    "--disable-component-extensions-with-background-pages",
    "--disable-component-update",
    "--disable-crash-reporter",
    "--disable-default-apps",
    "--disable-dev-shm-usage",
    "--disable-domain-reliability",
    "--disable-extensions",
    "--disable-field-trial-config",
    "--disable-hang-monitor",
    "--disable-infobars",
    "--disable-prompt-on-repost",
    "--disable-quic",
    "--disable-renderer-backgrounding",
    "--disable-search-engine-choice-screen",
    "--disable-stack-profiler",
    "--disable-sync",
    "--enable-features=CDPScreenshotNewSurface,SkipListAccountsWithoutGaiaCookies",
    "--enable-unsafe-swiftshader",
    "--force-color-profile=srgb",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--metrics-recording-only",
    "--password-store=basic",
    "--use-mock-keychain",
    f"--disable-features={','.join(_FEATURES_OFF)}",
    # Every name is looked up by our proxy and by nothing else, and loopback is no exception to the proxy.
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
    "--proxy-bypass-list=<-loopback>",
)


_LEAST_MB: Final = 1024
"""What a process of Chromium's may allocate at least: with less it does not start everywhere."""


def command(chromium: str, folder: Path, lock: Path, proxy: str, max_mb: int) -> tuple[str, list[str]]:
    """Program and arguments that run `chromium` under a keeper, with all its traffic by `proxy` and at most `max_mb` MB
    of memory for each of its processes."""
    # The sandbox is a matter of user namespaces, which Chromium refuses to set up for root.
    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
    own = [f"--user-data-dir={folder / 'profile'}", f"--proxy-server={proxy}"]
    flags = [chromium, *_FLAGS, *sandbox, *own]
    return sys.executable, ["-I", str(KEEPER), str(lock), str(folder), str(max(max_mb, _LEAST_MB)), "--", *flags]


def environment(folder: Path) -> dict[str, str | float | bool]:
    """All that Chromium sees of the environment: what is in ours is no business of a page's."""
    return {"HOME": str(folder), "TMPDIR": str(folder), "PATH": os.defpath, "LANG": "C.UTF-8"}
