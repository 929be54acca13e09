extension InspectorPage {
    static let style: StaticString = """
        :root { --good: #17663a; --good-soft: #e1f3e8; --mono: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; }
        @media (prefers-color-scheme: dark) { :root { --good: #83dba9; --good-soft: #1a3527; } }
        body { height: 100dvh; display: flex; flex-direction: column; padding: 0 clamp(.6rem, 1.6vw, 1.5rem); }
        header { display: flex; flex-wrap: wrap; gap: .4rem 1.6rem; align-items: center; padding: .9rem .1rem .8rem; }
        h1 { font-size: 1.2rem; }
        nav { display: flex; gap: .2rem; }
        nav a { padding: .3rem .75rem; border-radius: .5rem; color: var(--soft); text-decoration: none; font-size: .94rem; }
        nav a:hover { color: var(--ink); }
        nav a[aria-current] { background: var(--accent-soft); color: var(--accent); font-weight: 600; }
        .tools { margin-left: auto; display: flex; flex-wrap: wrap; gap: .5rem; align-items: center; font-size: .94rem; }
        #connection:empty { margin-right: -.5rem; }
        button, .button { padding: .34rem .8rem; min-height: 2.1rem; border: 1px solid var(--line); border-radius: .5rem; background: var(--card); cursor: pointer; font-size: .92rem; }
        .button { color: var(--ink); text-decoration: none; display: inline-flex; align-items: center; }
        button:hover:not(:disabled), .button:hover { border-color: var(--accent); color: var(--accent); }
        button:disabled { opacity: .6; cursor: default; }
        button.main { background: var(--accent); border-color: var(--accent); color: var(--on-accent); font-weight: 600; }
        button.main:hover:not(:disabled) { color: var(--on-accent); filter: brightness(1.08); }
        button.link { border: 0; padding: 0; min-height: 0; background: none; color: var(--accent); font-size: inherit; text-decoration: underline; text-underline-offset: .15em; }
        input, select, textarea { font: inherit; padding: .38rem .7rem; border: 1px solid var(--line); border-radius: .5rem; background: var(--paper); color: var(--ink); min-width: 0; }
        ::placeholder { color: var(--soft); opacity: 1; }
        #traffic { flex: 1; min-height: 0; display: grid; grid-template-columns: minmax(20rem, 31rem) minmax(0, 1fr); gap: 1rem; padding-bottom: 1rem; }
        .records { display: flex; flex-direction: column; min-height: 0; overflow: hidden; }
        #filter { display: grid; grid-template-columns: 1fr 1fr; gap: .5rem; padding: .8rem .8rem .5rem; border-bottom: 1px solid var(--line); font-size: .92rem; }
        #filter input, #count { grid-column: 1 / -1; }
        #count { font-size: .82rem; padding: 0 .15rem; }
        #list { flex: 1; min-height: 0; overflow-y: auto; contain: strict; }
        #list:focus-visible { outline-offset: -2px; }
        #rows { position: relative; }
        .row { position: absolute; inset: 0 0 auto; height: 56px; padding: 0 .8rem; display: grid; grid-template-columns: 3.1rem minmax(0, 1fr) auto;
          grid-template-rows: 1fr 1fr; gap: 0 .6rem; border-bottom: 1px solid var(--line); cursor: default; font-size: .92rem; }
        .row:hover { background: var(--paper); }
        .row.on { background: var(--accent-soft); }
        .row .mark { grid-row: 1 / 3; align-self: center; }
        .row.under { padding-left: 2rem; }
        .row .what, .row .below { display: flex; gap: .4rem; min-width: 0; white-space: nowrap; overflow: hidden; }
        .row .what, .row .what + .fact { align-self: end; }
        .row .what { align-items: baseline; }
        .row .below { align-items: center; }
        .path { display: flex; min-width: 0; }
        .path > *, .row .host { min-width: 0; overflow: hidden; text-overflow: ellipsis; white-space: pre; }
        .path .way { flex: 0 1000000000 auto; min-width: 1.1em; }
        .path .leaf, .path .query { direction: rtl; text-align: left; }
        .path .leaf { flex: 0 1 auto; }
        .path .query { flex: 0 1000000000000 auto; min-width: 4.5ch; }
        .path .short { flex: none; min-width: 0; }
        .row .fold { flex: none; padding: .05rem .6rem; min-height: 1.5rem; border: 1px solid var(--line); border-radius: 1rem; background: var(--card); color: var(--accent); font-size: .78rem; font-weight: 600; cursor: pointer; }
        .row .fold::before { content: "▸ "; } .row[aria-expanded=true] .fold::before { content: "▾ "; }
        .row .fold:hover { border-color: var(--accent); }
        .row .method { font-weight: 650; font-size: .86em; letter-spacing: .01em; }
        .row .host, .row .fact { font-size: .82rem; color: var(--soft); }
        .row .fact { text-align: end; font-variant-numeric: tabular-nums; }
        .row.on .host, .row.on .fact { color: var(--ink); }
        .pill { display: inline-block; min-width: 2.7rem; text-align: center; padding: .08rem .42rem; border-radius: 1rem; font-size: .78rem; font-weight: 650; font-variant-numeric: tabular-nums; background: var(--paper); color: var(--soft); }
        .pill.good { background: var(--good-soft); color: var(--good); }
        .pill.plain { background: var(--accent-soft); color: var(--accent); }
        .pill.warn { background: var(--warning-soft); color: var(--warning); }
        .pill.bad { background: var(--error-soft); color: var(--error); }
        .tag { flex: none; font-size: .74rem; color: var(--accent); }
        .notice { padding: 1.6rem 1.1rem; }
        .detail { overflow-y: auto; padding: 0 1.4rem 1.4rem; }
        .detail:focus { outline: none; }
        .detail > .notice { padding-inline: 0; }
        .sheet { padding: 1.2rem 1.4rem 1.4rem; display: grid; gap: .7rem; }
        .page { width: 100%; padding-top: .4rem; overflow-y: auto; }
        .page.wide { max-width: 72rem; }
        .florets, ul.plain { list-style: none; margin: 0; padding: 0; }
        .florets li { display: flex; gap: .5rem 1.2rem; align-items: center; padding: .8rem 0; border-top: 1px solid var(--line); }
        .florets .name { display: block; font-weight: 600; overflow-wrap: anywhere; }
        .grow { flex: 1; min-width: 0; }
        .switch { position: relative; flex: none; width: 3.1rem; min-height: 1.8rem; padding: 0; border-radius: 1rem; background: var(--soft); border: 1px solid transparent; }
        .switch::after { content: ""; position: absolute; top: .12rem; left: .14rem; width: 1.4rem; height: 1.4rem; border-radius: 50%; background: #ffffff; box-shadow: 0 1px 2px rgb(0 0 0 / .3); transition: transform .15s; }
        .switch[aria-checked=true] { background: var(--accent); }
        .switch[aria-checked=true]::after { transform: translateX(1.26rem); }
        .scrolling { overflow-x: auto; margin-inline: -.2rem; padding-inline: .2rem; container-type: inline-size; }
        table { border-collapse: collapse; width: 100%; font-size: .9rem; }
        .trace { table-layout: fixed; }
        .trace th:nth-child(1) { width: 7.2rem; } .trace th:nth-child(3) { width: 15%; } .trace th:nth-child(4) { width: 18%; } .trace th:nth-child(5) { width: 26%; }
        .trace th { text-align: start; font-size: .8rem; color: var(--soft); font-weight: 600; }
        .trace th, .trace td { padding: .45rem 1rem .45rem 0; border-bottom: 1px solid var(--line); vertical-align: baseline; }
        .trace .fact { white-space: nowrap; font-variant-numeric: tabular-nums; }
        .trace .kind { font-size: .82rem; white-space: nowrap; }
        .trace .narrow, .trace .reason { display: block; font-size: .82rem; overflow-wrap: anywhere; }
        .trace .narrow { display: none; }
        .trace td { overflow-wrap: anywhere; } .trace .pill { overflow-wrap: normal; }
        @container (max-width: 40rem) {
          .trace .wide { display: none; }
          .trace .narrow { display: block; }
          .trace th, .trace td { padding-right: .5rem; }
          .trace .fact { font-size: .76rem; }
          .trace th:nth-child(1) { width: 5.6rem; } .trace th:nth-child(5) { width: 31%; }
          .trace code { font-size: .75rem; }
          .trace .kind { display: block; }
          .trace .pill { font-size: .72rem; padding-inline: .36rem; }
          .trace th:last-child, .trace td:last-child { padding-right: 0; }
        }
        @media (max-width: 56.25rem) {
          body { height: auto; min-height: 100dvh; }
          #traffic { grid-template-columns: minmax(0, 1fr); grid-template-rows: minmax(0, 1fr); height: calc(100dvh - 7.6rem); flex: none; }
          .chosen #traffic { height: auto; }
          .chosen .records { display: none; }
          html:not(.chosen) .detail { display: none; }
          .detail { padding-inline: 1rem; overflow: visible; }
          .page { padding-inline: 0; }
          .sheet { padding: 1rem; }
          .tools { margin-left: 0; }
          .tools button, .tools .button { padding-inline: .6rem; font-size: .88rem; }
        }
        """

    static let detailStyle: StaticString = """

        .back { padding-top: .9rem; font-size: .88rem; display: none; }
        .title { display: flex; gap: .7rem; align-items: baseline; padding-top: 1.2rem; }
        .title h2 { font-size: 1.05rem; font-weight: 620; }
        .facts { display: flex; flex-wrap: wrap; gap: .1rem 1.1rem; font-size: .88rem; margin-top: .3rem; overflow-wrap: anywhere; }
        .actions { display: flex; flex-wrap: wrap; gap: .5rem; margin-top: .9rem; }
        .detail section { margin-top: 1.6rem; }
        .detail h3 { margin-bottom: .55rem; letter-spacing: .01em; }
        .message { border-top: 1px solid var(--line); padding-top: 1.1rem; display: grid; gap: .7rem; }
        .message h3 { margin: 0; font-size: .95rem; color: var(--ink); }
        .fault { color: var(--error); overflow-wrap: anywhere; }
        .fault:empty { display: none; }
        .detail > .fault { margin-top: .9rem; }
        .waterfall { display: block; overflow: visible; }
        .waterfall text { font-size: 13px; fill: var(--soft); }
        .waterfall .end { text-anchor: end; fill: var(--ink); font-variant-numeric: tabular-nums; }
        .waterfall .ground { fill: var(--line); opacity: .5; }
        .waterfall .bar { fill: var(--accent); }
        .waterfall .p0 { fill: var(--warning); } .waterfall .p2 { fill: var(--good); }
        summary { cursor: pointer; font-size: .88rem; color: var(--soft); width: fit-content; }
        .headers { margin-top: .4rem; font-size: .86rem; table-layout: fixed; }
        .headers th, .headers td { text-align: start; vertical-align: baseline; padding: .28rem .8rem .28rem 0; border-top: 1px solid var(--line); overflow-wrap: anywhere; }
        .headers th { font-weight: 600; width: 13rem; }
        .headers td { font-family: var(--mono); font-size: .95em; }
        .url { overflow-wrap: anywhere; }
        pre { margin: 0; }
        .body, .diff { padding: .8rem 1rem; background: var(--paper); border: 1px solid var(--line); border-radius: .55rem; overflow: auto; max-height: 32rem; font-size: .82rem; line-height: 1.55; white-space: pre-wrap; overflow-wrap: anywhere; tab-size: 2; }
        .signed h4 { margin: .6rem 0 .35rem; font-size: .82rem; color: var(--soft); }
        .signed details > p { margin-top: .4rem; font-size: .88rem; overflow-wrap: anywhere; }
        .message > * { min-width: 0; }
        .message > div { display: grid; gap: .45rem; justify-items: start; }
        .message > div > pre { width: 100%; min-width: 0; }
        .t-name { color: var(--accent); } .t-string { color: var(--good); } .t-number { color: var(--warning); }
        .plain li { padding: .15rem 0; font-size: .92rem; }
        .diff { margin-top: .5rem; padding: .6rem 0; }
        .diff > * { display: block; padding: 0 1rem; text-decoration: none; }
        .diff del { background: var(--error-soft); color: var(--error); }
        .diff ins { background: var(--good-soft); color: var(--good); }
        dialog { width: min(46rem, calc(100vw - 2rem)); max-height: calc(100dvh - 2rem); border: 1px solid var(--line); border-radius: .8rem; padding: 1.3rem 1.5rem 1.4rem; background: var(--card); color: var(--ink); box-shadow: 0 12px 48px rgb(0 0 0 / .25); }
        dialog::backdrop { background: rgb(10 14 20 / .45); }
        dialog form { display: grid; gap: .35rem; }
        dialog h2 { margin-bottom: .4rem; }
        dialog label { font-size: .85rem; font-weight: 600; color: var(--soft); margin-top: .5rem; display: block; }
        dialog input { width: 100%; }
        dialog .line { display: flex; gap: .7rem; } dialog .line > div:first-child { width: 7rem; }
        textarea { font-family: var(--mono); font-size: .84rem; line-height: 1.5; resize: vertical; width: 100%; }
        dialog .actions { justify-content: end; }
        @media (max-width: 56.25rem) {
          .chosen .back { display: block; }
          .title { padding-top: .7rem; }
          .headers th { width: 40%; }
        }
        """
}
