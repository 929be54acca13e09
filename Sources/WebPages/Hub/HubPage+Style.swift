extension HubPage {
    static let style: StaticString = """
        :root { --command: #2557c7; --query: #0b746c; --view: #7a3fb0; --event: #a85400; }
        @media (prefers-color-scheme: dark) {
          :root { --command: #8db1ff; --query: #5fd0c5; --view: #cfa3f5; --event: #f2b36b; }
        }
        .command { --kind: var(--command); } .query { --kind: var(--query); }
        .view { --kind: var(--view); } .event { --kind: var(--event); }
        .hub { padding: 1.25rem clamp(.75rem, 2vw, 1.75rem) 2.5rem; }
        header { display: flex; flex-wrap: wrap; gap: .75rem 2rem; align-items: end; justify-content: space-between; margin-bottom: 1.1rem; }
        .search { flex: 0 1 24rem; }
        .search input { width: 100%; padding: .5rem .9rem; border: 1px solid var(--line); border-radius: .6rem; background: var(--card); }
        main { display: grid; grid-template-columns: minmax(0, 1fr) 23rem; gap: 1.1rem; align-items: start; }
        aside { position: sticky; top: 1.1rem; max-height: calc(100vh - 2.2rem); overflow-y: auto; display: grid; gap: 1.1rem; }
        aside .card { padding: 1.1rem 1.2rem 1.2rem; }
        .live .detail, .live.chosen #overview { display: none; }
        .live .detail.shown { display: block; }
        .live .back { display: block; } .back { display: none; font-size: .85rem; margin-bottom: .5rem; }
        h2[tabindex]:focus { outline: none; }
        .picture { overflow: hidden; display: grid; }
        .canvas { overflow: auto; max-height: 80vh; padding: 1.1rem 1rem; border-radius: inherit; display: grid; justify-items: safe center; align-items: safe center; min-height: 16rem; }
        .map { display: block; max-width: 100%; height: auto; }
        .roomy .map { max-width: none; }
        .box { text-decoration: none; outline: none; cursor: pointer; }
        .box rect { fill: var(--accent-soft); stroke: var(--accent); stroke-width: 1; transition: fill .15s; }
        .box text { fill: var(--ink); font-size: 15px; font-weight: 600; text-anchor: middle; }
        .box:hover rect, .box:focus-visible rect { stroke-width: 2.5; }
        .box.chosen rect { fill: var(--accent); }
        .box.chosen text { fill: var(--on-accent); }
        .stroke { fill: none; stroke: var(--kind); stroke-width: 1.6; }
        .event .stroke { stroke-dasharray: 6 4; }
        .hit { fill: none; stroke: transparent; stroke-width: 12; }
        .head { fill: var(--kind); }
        .origin { fill: var(--card); stroke: var(--kind); stroke-width: 1.6; }
        .line text { fill: var(--kind); font: 11px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace;
          paint-order: stroke; stroke: var(--card); stroke-width: 4px; stroke-linejoin: round; }
        .line text.ends-here { text-anchor: end; }
        .open { fill: var(--card); stroke: var(--kind); stroke-width: 1.6; }
        .open-ended { --kind: var(--soft); }
        .open-ended.needed { --kind: var(--error); }
        .line, .box { transition: opacity .15s; }
        .picking .line:not(.on) { opacity: .13; }
        .picking .box:not(.on) { opacity: .4; }
        .line.on .stroke, .line:hover .stroke { stroke-width: 2.4; }
        .legend { list-style: none; margin: 0; padding: .7rem 1.2rem; border-top: 1px solid var(--line); display: flex; flex-wrap: wrap; gap: .25rem 1.4rem; font-size: .82rem; color: var(--soft); }
        .legend li { display: flex; align-items: center; gap: .5rem; }
        .open-end { width: .62rem; height: .62rem; border: 1.6px solid var(--soft); border-radius: 50%; }
        .hint { font-size: .9rem; margin-top: .15rem; }
        .plugins, .findings, .messages { list-style: none; margin: .7rem 0 0; padding: 0; }
        .plugins li { display: flex; flex-wrap: wrap; gap: 0 .6rem; align-items: baseline; padding: .45rem 0; border-top: 1px solid var(--line); }
        .plugins a { font-weight: 600; overflow-wrap: anywhere; }
        .plugins .soft { flex-basis: 100%; font-size: .82rem; }
        aside h3 { margin-top: 1.15rem; }
        .messages { margin-top: .2rem; }
        .messages li { padding: .5rem 0 .5rem .75rem; border-left: 3px solid var(--kind); margin-top: .45rem; display: grid; grid-template-columns: 1fr auto; gap: 0 .75rem; align-items: baseline; }
        .messages li { padding-block: .1rem; }
        .messages code { font-weight: 600; }
        .kind { color: var(--kind); font-size: .8rem; text-align: end; }
        .ends { grid-column: 1 / -1; font-size: .88rem; overflow-wrap: anywhere; }
        .lonely { color: var(--soft); }
        .lonely.error { color: var(--error); font-weight: 600; }
        .findings li { display: flex; gap: .6rem; align-items: baseline; font-size: .88rem; padding: .35rem 0; }
        .findings li > span:last-child { min-width: 0; overflow-wrap: anywhere; }
        .mark { font-size: .72rem; font-weight: 600; padding: .05rem .45rem; border-radius: 1rem; flex: none; }
        .mark.error { color: var(--error); background: var(--error-soft); }
        .mark.warning { color: var(--warning); background: var(--warning-soft); }
        @media (max-width: 96rem) {
          main { grid-template-columns: minmax(0, 1fr); }
          aside { position: static; max-height: none; overflow: visible; scroll-margin-top: 1rem; }
          .canvas { min-height: 0; }
          .plugins, .groups { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(17rem, 100%), 1fr)); gap: 0 2rem; align-items: start; }
          .findings { columns: 26rem auto; column-gap: 2rem; } .findings li { break-inside: avoid; }
        }
        @media (max-width: 48rem) {
          .map { max-width: none; }
          .canvas { justify-items: start; }
          .search { flex-basis: 100%; }
        }
        @media print { .canvas { max-height: none; } .search, .back { display: none; } .live .detail { display: block; } aside { position: static; max-height: none; } }
        """
}
