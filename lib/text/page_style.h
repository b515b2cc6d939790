/* page_style.h: the colors that report.html, sweep.html and the page of `windlass ui` share, as
 * custom properties of CSS: one family in light and dark. */
#pragma once

#define PAGE_LIGHT                                                                                 \
    "--page:#f6f7f9;--card:#fff;--text:#1c2127;--quiet:#59636e;--line:#dfe3e8;--done:#2f6fd6;"     \
    "--busy:#2a8c7d;--failed:#d9541e;--good:#1a7f47;--bad:#b93c0c;--mean:#9a6700"
#define PAGE_DARK                                                                                  \
    "--page:#15181c;--card:#1d2126;--text:#e7eaee;--quiet:#a2abb6;--line:#323941;--done:#5b9df5;"  \
    "--busy:#3fae9c;--failed:#ff8a5c;--good:#5cc98a;--bad:#ff8a5c;--mean:#f0c05a"
