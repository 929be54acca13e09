extension FrontDeskPage {
    static let style: StaticString = """
        :root { --good: #17663a; --good-soft: #e1f3e8; --retry: #a34a00;
          --mono: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; }
        @media (prefers-color-scheme: dark) { :root { --good: #83dba9; --good-soft: #1a3527; --retry: #f2a35c; } }
        html { scroll-padding: 1rem 0 7rem; }
        body { display: flex; flex-direction: column; min-height: 100dvh; padding: 0 clamp(.6rem, 1.6vw, 1.5rem); }
        .skip { position: absolute; left: -100vw; top: 0; z-index: 3; padding: .5rem 1rem; background: var(--card); }
        .skip:focus { left: .5rem; top: .5rem; }
        header { display: grid; grid-template-columns: auto 1fr; gap: .6rem 2.5rem; align-items: start; padding: 1rem .1rem .8rem; }
        h1 { font-size: 1.2rem; }
        .brand p { font-size: .88rem; }
        .clock { display: flex; flex-wrap: wrap; gap: .45rem 1.1rem; align-items: center; justify-content: flex-end; }
        .now { font-variant-numeric: tabular-nums; }
        .now time { font-weight: 650; }
        .now .soft, .clock label, #next { font-size: .88rem; }
        #next { flex-basis: 100%; text-align: end; }
        #next:empty { display: none; }
        #later { flex-basis: 100%; font-size: .88rem; text-align: end; }
        #later summary { margin-left: auto; } #later ol { list-style: none; margin: .3rem 0 0; padding: 0; }
        nav { grid-column: 1 / -1; display: flex; flex-wrap: wrap; gap: .2rem; align-items: center; border-bottom: 1px solid var(--line); padding-bottom: .5rem; }
        nav a { padding: .3rem .75rem; border-radius: .5rem; color: var(--soft); text-decoration: none; font-size: .94rem; }
        nav a:hover { color: var(--ink); }
        nav a[aria-current] { background: var(--accent-soft); color: var(--accent); font-weight: 600; }
        .warn, nav a.warn { color: var(--warning); }
        #connection { margin-left: auto; font-size: .88rem; }
        button { padding: .34rem .8rem; min-height: 2.1rem; border: 1px solid var(--line); border-radius: .5rem; background: var(--card); cursor: pointer; font-size: .92rem; white-space: nowrap; overflow-wrap: normal; }
        button:hover:not(:disabled) { border-color: var(--accent); color: var(--accent); }
        button:disabled { opacity: .6; cursor: default; }
        button.main { background: var(--accent); border-color: var(--accent); color: var(--on-accent); font-weight: 600; }
        button.main:hover:not(:disabled) { color: var(--on-accent); filter: brightness(1.08); }
        button.risky { background: var(--error-soft); border-color: var(--error); color: var(--error); font-weight: 600; }
        input, select { font: inherit; font-size: .94rem; padding: .34rem .6rem; min-height: 2.1rem; border: 1px solid var(--line); border-radius: .5rem; background: var(--paper); color: var(--ink); min-width: 0; }
        input[type=checkbox] { min-height: 0; width: 1.1rem; height: 1.1rem; margin: 0; accent-color: var(--accent); }
        ::placeholder { color: var(--soft); opacity: 1; }
        .busy { cursor: progress; }
        main { flex: 1; outline: none; padding: .3rem 0 1.2rem; }
        .view, .desk { display: grid; gap: 1rem; grid-template-columns: minmax(0, 1fr); align-content: start; }
        .columns { grid-template-columns: 17rem minmax(0, 1fr); align-items: start; }
        .pane { padding: 1.1rem 1.25rem 1.25rem; display: grid; gap: .7rem; align-content: start; grid-template-columns: minmax(0, 1fr); }
        .pane h3 { font-size: 1rem; color: var(--ink); }
        h4 { margin: 0; font-size: .96rem; line-height: 1.3; overflow-wrap: anywhere; }
        h2:focus { outline: none; }
        .stack { display: grid; gap: .45rem; }
        .stack label, .inline label { font-size: .86rem; color: var(--soft); }
        .stack button { margin-top: .3rem; }
        #withdrawn-box, #codes-box, #new-account { border-top: 1px solid var(--line); padding-top: .9rem; }
        .inline, .line, .buttons { display: flex; flex-wrap: wrap; gap: .5rem .6rem; align-items: center; min-width: 0; }
        .line > * { min-width: 0; overflow-wrap: anywhere; }
        .buttons.end { justify-content: flex-end; }
        .inline { border-top: 1px solid var(--line); padding-top: .9rem; }
        .list, .products, .legend { list-style: none; margin: 0; padding: 0; }
        .list > li { padding: .6rem 0; border-top: 1px solid var(--line); display: grid; gap: .45rem; }
        .list > li:first-child { border-top: 0; padding-top: 0; }
        .list > li.line { display: flex; justify-content: space-between; }
        .list .list { padding-left: .9rem; border-left: 2px solid var(--line); }
        #accounts > li { padding: 0; border: 0; }
        #accounts a { display: block; padding: .4rem .65rem; margin: 0 -.65rem; border-radius: .5rem; color: var(--ink); text-decoration: none; overflow-wrap: anywhere; }
        #accounts a:hover { background: var(--paper); }
        #accounts a[aria-current] { background: var(--accent-soft); }
        #accounts .name { display: block; font-weight: 600; }
        #accounts a[aria-current] .name { color: var(--accent); }
        #accounts a[aria-current] .soft { color: var(--ink); }
        #accounts .soft { font-size: .84rem; }
        .facts { margin: 0; display: flex; flex-wrap: wrap; gap: .4rem 2rem; }
        .facts > div { display: flex; gap: .6rem; align-items: center; flex-wrap: wrap; }
        .facts dt { color: var(--soft); font-size: .88rem; }
        .facts dd { margin: 0; overflow-wrap: anywhere; }
        #account { display: grid; gap: .8rem; grid-template-columns: minmax(0, 1fr); }
        fieldset { border: 0; margin: 0; padding: 0; display: flex; flex-wrap: wrap; gap: .3rem 1.5rem; min-width: 0; }
        legend { font-size: .86rem; color: var(--soft); padding: 0; margin-bottom: .25rem; }
        .check { display: flex; flex-wrap: wrap; gap: .5rem; align-items: center; }
        .check p { flex-basis: 100%; }
        #sheet .check label { flex: 1; min-width: 0; }
        """

    static let contentStyle: StaticString = """

        .products { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(18rem, 100%), 1fr)); gap: .7rem; }
        .products > li { border: 1px solid var(--line); border-radius: .6rem; padding: .8rem .9rem; display: flex; flex-direction: column; gap: .6rem; justify-content: space-between; }
        .products > li.soft { border: 0; padding: 0; }
        .products .soft { font-size: .86rem; }
        .products code { font-size: .8rem; color: var(--soft); }
        .sale { display: flex; flex-wrap: wrap; gap: .4rem .8rem; align-items: center; justify-content: space-between; }
        .minor button { min-height: 1.8rem; padding: .15rem .6rem; font-size: .84rem; }
        #redeem input, #redeem select { flex: 1 1 7rem; max-width: 14rem; }
        .inline .inline { border: 0; padding: 0; } .inline p { flex-basis: 100%; font-size: .86rem; }
        .line.between { justify-content: space-between; }
        .price { font-weight: 650; font-variant-numeric: tabular-nums; } .price .soft { font-weight: 400; }
        .pill { display: inline-block; white-space: nowrap; overflow-wrap: normal; padding: .08rem .5rem; border-radius: 1rem; font-size: .78rem; font-weight: 650; background: var(--paper); color: var(--soft); }
        .pill.good { background: var(--good-soft); color: var(--good); }
        .pill.plain { background: var(--accent-soft); color: var(--accent); }
        .pill.warn { background: var(--warning-soft); color: var(--warning); }
        .pill.bad { background: var(--error-soft); color: var(--error); }
        .scrolling { position: relative; overflow-x: auto; container-type: inline-size; }
        table { border-collapse: collapse; width: 100%; font-size: .9rem; }
        th, td { text-align: start; padding: .5rem 1rem .5rem 0; border-bottom: 1px solid var(--line); vertical-align: baseline; overflow-wrap: anywhere; }
        thead th { font-size: .8rem; color: var(--soft); font-weight: 600; border-bottom-width: 2px; }
        th[scope=row] { font-weight: 600; } th[scope=row] .below { font-weight: 400; }
        #transactions th[scope=row], #notifications th[scope=row], #play-orders th[scope=row], #play-notifications th[scope=row], #screens th[scope=row] { min-width: 8.6rem; } td.word { overflow-wrap: normal; }
        th[scope=row] code { display: block; font-weight: 400; color: var(--soft); font-size: .8rem; }
        th[scope=row] code.name { color: var(--ink); font-weight: 600; font-size: .86rem; }
        td { font-variant-numeric: tabular-nums; }
        th:last-child, td:last-child { padding-right: 0; }
        .number { text-align: end; white-space: nowrap; } .end { text-align: end; }
        .below { display: block; font-size: .8rem; }
        .narrow { display: none; font-weight: 400; font-size: .8rem; }
        .more td { padding: .3rem 0 1.2rem; }
        .more td > * + * { margin-top: .9rem; }
        .attempts { margin-bottom: 0; padding-left: 1.3rem; } .attempts li { padding: .12rem 0; }
        .jws { display: grid; gap: .5rem; grid-template-columns: minmax(0, 1fr); }
        .jws .jws { border-left: 2px solid var(--line); padding-left: .8rem; margin-top: .4rem; }
        .pair { display: grid; gap: .6rem; grid-template-columns: minmax(0, 1fr) minmax(0, 2fr); align-items: start; }
        .pair > :first-child pre { max-height: 14rem; }
        .caption { font-size: .8rem; color: var(--soft); margin-bottom: .2rem; overflow-wrap: anywhere; }
        pre { margin: 0; padding: .7rem .9rem; background: var(--paper); border: 1px solid var(--line); border-radius: .55rem; overflow: auto; max-height: 26rem; font-size: .8rem; line-height: 1.5; white-space: pre-wrap; overflow-wrap: anywhere; }
        .steps { padding-left: 0; list-style: none; } .steps li { margin: .35rem 0; }
        .difference { margin: .5rem 0 .9rem 1rem; }
        .difference .expected { color: var(--error); } .difference .actual { color: var(--good); }
        .screen { border-left: 2px solid var(--line); padding-left: .8rem; }
        .screen, .message { display: grid; gap: .5rem; grid-template-columns: minmax(0, 1fr); overflow-wrap: anywhere; }
        .message { max-width: 32rem; padding: .8rem .9rem; border: 1px solid var(--line); border-radius: .6rem; background: var(--paper); }
        .picture { display: flex; flex-wrap: wrap; gap: .2rem .6rem; align-items: baseline; padding: .5rem .7rem; border: 1px dashed var(--line); border-radius: .4rem; font-size: .86rem; }
        .picture code { font-size: .78rem; }
        .points { margin: 0; padding-left: 1.2rem; } .points .picture { margin-top: .25rem; }
        .offered { border-top: 1px solid var(--line); padding-top: .5rem; font-weight: 600; } .offered code { font-weight: 400; }
        summary { cursor: pointer; font-size: .88rem; color: var(--soft); width: fit-content; }
        #subscriptions, #play-purchases { display: grid; gap: 1.2rem; grid-template-columns: minmax(0, 1fr); }
        .timeline { display: block; overflow: hidden; }
        .timeline text { font-size: 13px; fill: var(--soft); }
        .timeline .label { fill: var(--ink); font-weight: 600; }
        .timeline .tick { stroke: var(--line); }
        .timeline line.now { stroke: var(--ink); stroke-width: 1.5; stroke-dasharray: 3 3; }
        .timeline text.now { fill: var(--ink); font-weight: 600; }
        .of-trial { --tone: var(--good); } .of-offer, .of-paid { --tone: var(--accent); } .of-grace { --tone: var(--warning); }
        .of-retry, .of-hold { --tone: var(--retry); } .of-paused, .of-expired { --tone: var(--soft); } .of-revoked { --tone: var(--error); }
        .bar { stroke: var(--tone); stroke-width: 1; }
        .bar.of-paid { fill: var(--tone); stroke: var(--card); }
        .bar.of-expired { fill: none; stroke-dasharray: 3 2; }
        pattern .ground { fill: var(--card); } pattern circle, pattern rect:not(.ground) { fill: var(--tone); }
        pattern path { stroke: var(--tone); stroke-width: 1.8; fill: none; }
        .legend { display: flex; flex-wrap: wrap; gap: .25rem 1.3rem; font-size: .84rem; color: var(--soft); }
        .legend li { display: flex; align-items: center; gap: .45rem; }
        #settings { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(38rem, 100%), 1fr)); gap: 0 2.5rem; }
        .setting { display: grid; grid-template-columns: minmax(0, 1fr) minmax(9rem, 18rem) auto; gap: .3rem 1rem; align-items: center; padding: .6rem 0; border-top: 1px solid var(--line); }
        .setting code { font-weight: 600; } .setting p { font-size: .86rem; }
        footer { position: sticky; bottom: 0; z-index: 2; background: var(--paper); border-top: 1px solid var(--line); margin: 0 calc(-1 * clamp(.6rem, 1.6vw, 1.5rem)); padding: .6rem clamp(.6rem, 1.6vw, 1.5rem); }
        #result { display: flex; flex-wrap: wrap; gap: .3rem 1.2rem; align-items: center; font-size: .92rem; }
        #outcome { overflow-wrap: anywhere; }
        .command { display: flex; gap: .6rem; align-items: center; min-width: 0; }
        .command code { padding: .3rem .6rem; background: var(--accent-soft); border-radius: .4rem; min-width: 0; max-height: 4.6rem; overflow-y: auto; }
        #sheet-command { max-height: none; }
        .command button { min-height: 1.8rem; padding: .15rem .6rem; font-size: .84rem; flex: none; }
        #earlier { max-height: 12rem; overflow-y: auto; } #earlier ol { margin: .3rem 0; padding-left: 1.8rem; }
        .fault { color: var(--error); overflow-wrap: anywhere; } .fault:empty { display: none; }
        .addresses { padding: 1.2rem .1rem 1.4rem; font-size: .86rem; display: grid; gap: .5rem; }
        .addresses ul { list-style: none; margin: 0; padding: 0; display: grid; grid-template-columns: repeat(auto-fill, minmax(min(24rem, 100%), 1fr)); gap: .15rem 1.5rem; }
        .notice { padding: 1.2rem .1rem; }
        dialog { width: min(34rem, calc(100vw - 2rem)); max-height: calc(100dvh - 2rem); border: 1px solid var(--line); border-radius: .8rem; padding: 1.3rem 1.5rem 1.4rem; background: var(--card); color: var(--ink); box-shadow: 0 12px 48px rgb(0 0 0 / .25); }
        dialog::backdrop { background: rgb(10 14 20 / .45); }
        dialog form, #sheet-fields { display: grid; gap: .8rem; grid-template-columns: minmax(0, 1fr); }
        #sheet-fields:empty, #sheet-warning:empty { display: none; }
        #sheet-fields > div:not(.check) { display: grid; gap: .25rem; }
        #sheet-fields label { font-size: .9rem; font-weight: 600; } #sheet-fields p { font-size: .84rem; }
        @container (max-width: 40rem) {
          .wide { display: none; } .narrow { display: block; }
          th, td { padding-right: .5rem; }
          th[scope=row] code.name { font-size: .78rem; }
          #transactions th[scope=row], #notifications th[scope=row], #play-orders th[scope=row], #play-notifications th[scope=row] { min-width: 7.4rem; } #screens th[scope=row] { min-width: 5.6rem; }
          .pair { grid-template-columns: minmax(0, 1fr); }
        }
        @media (min-width: 80rem) and (min-height: 40rem) {
          header { position: sticky; top: 0; z-index: 2; background: var(--paper); }
          html { scroll-padding-top: 9rem; }
        }
        @media (min-width: 100rem) {
          .columns { grid-template-columns: 20rem minmax(0, 1fr); }
          .desk { grid-template: auto auto 1fr / minmax(0, 1fr) minmax(0, 1fr); align-items: start; }
          #products-box { grid-area: 1 / 2 / span 3; } .desk > :nth-last-child(-n + 2) { grid-column: 1 / -1; }
        }
        @media (max-width: 56rem) {
          header { grid-template-columns: minmax(0, 1fr); }
          .clock { justify-content: flex-start; } #next, #later { text-align: start; } #later summary { margin-left: 0; }
          nav a { padding-inline: .5rem; font-size: .9rem; }
          .columns { grid-template-columns: minmax(0, 1fr); }
          .pane { padding: 1rem; }
          .setting { grid-template-columns: minmax(0, 1fr) auto; } .setting > div { grid-column: 1 / -1; }
          .sale .buttons.end { justify-content: flex-start; }
        }
        """
}
