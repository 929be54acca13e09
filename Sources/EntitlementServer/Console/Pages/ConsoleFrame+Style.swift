extension ConsoleFrame {
    /// The style sheet of the console.
    static let style: StaticString = """
        :root { --good: #17663a; --good-soft: #e1f3e8; }
        @media (prefers-color-scheme: dark) { :root { --good: #83dba9; --good-soft: #1a3527; } }
        body { padding: 0 clamp(.6rem, 1.6vw, 1.5rem) 2rem; }
        .skip { position: absolute; left: -100vw; top: 0; padding: .5rem 1rem; background: var(--card); }
        .skip:focus { left: .5rem; top: .5rem; }
        header { display: flex; flex-wrap: wrap; gap: .4rem 2rem; align-items: center; padding: .9rem 0; margin-bottom: 1rem; border-bottom: 1px solid var(--line); }
        header .brand { font-weight: 650; } header .brand a { color: var(--ink); text-decoration: none; }
        header .soft { font-size: .9rem; flex: 1; min-width: 0; overflow-wrap: anywhere; }
        header nav { display: flex; flex-wrap: wrap; gap: .2rem 1rem; font-size: .92rem; }
        main { display: grid; gap: 1rem; grid-template-columns: minmax(0, 1fr); max-width: 90rem; margin: 0 auto; }
        main.narrow { max-width: 30rem; padding-top: 8vh; }
        .pane { padding: 1.1rem 1.25rem 1.25rem; display: grid; gap: .8rem; grid-template-columns: minmax(0, 1fr); align-content: start; }
        h2 { font-size: 1.05rem; }
        button, .button { display: inline-block; padding: .34rem .8rem; min-height: 2.1rem; border: 1px solid var(--line); border-radius: .5rem; background: var(--card); color: var(--ink); cursor: pointer; font-size: .92rem; text-decoration: none; }
        button:hover, .button:hover { border-color: var(--accent); color: var(--accent); }
        button.main { background: var(--accent); border-color: var(--accent); color: var(--on-accent); font-weight: 600; }
        button.risky { background: var(--error-soft); border-color: var(--error); color: var(--error); font-weight: 600; }
        input:not([type=hidden]):not([type=radio]), select { padding: .34rem .6rem; min-height: 2.2rem; border: 1px solid var(--line); border-radius: .5rem; background: var(--paper); min-width: 0; width: 100%; max-width: 34rem; }
        form.stack { display: grid; gap: .45rem; } form.stack button { justify-self: start; margin-top: .4rem; } form.stack .buttons button { margin-top: 0; }
        form.stack label, legend { font-size: .9rem; font-weight: 600; padding: 0; }
        form.line { display: flex; flex-wrap: wrap; gap: .6rem; align-items: end; }
        form.line > div { display: grid; gap: .25rem; flex: 1 1 12rem; max-width: 34rem; }
        form.line label { font-size: .9rem; font-weight: 600; }
        fieldset { border: 0; margin: 0; padding: 0; display: grid; gap: .3rem; }
        form.stack fieldset label { font-weight: 400; display: flex; gap: .5rem; align-items: center; }
        .buttons { display: flex; flex-wrap: wrap; gap: .6rem; align-items: center; }
        .hint { font-size: .86rem; color: var(--soft); }
        .notice { padding: .7rem 1rem; border-radius: .6rem; background: var(--good-soft); color: var(--good); font-weight: 600; }
        #outdated { position: sticky; top: .6rem; z-index: 1; max-width: 90rem; margin: 0 auto 1rem; }
        .fault { padding: .7rem 1rem; border-radius: .6rem; background: var(--error-soft); color: var(--error); }
        .facts { margin: 0; display: grid; gap: .35rem; }
        .facts > div { display: grid; grid-template-columns: 12rem minmax(0, 1fr); gap: .2rem 1rem; }
        .facts dt { color: var(--soft); font-size: .9rem; } .facts dd { margin: 0; overflow-wrap: anywhere; }
        .scrolling { overflow-x: auto; }
        table { border-collapse: collapse; width: 100%; font-size: .9rem; }
        th, td { text-align: start; padding: .5rem 1rem .5rem 0; border-bottom: 1px solid var(--line); vertical-align: baseline; overflow-wrap: anywhere; min-width: 7rem; }
        thead th { font-size: .8rem; color: var(--soft); font-weight: 600; border-bottom-width: 2px; }
        td { font-variant-numeric: tabular-nums; }
        td button { white-space: nowrap; }
        time { white-space: nowrap; }
        .pill { display: inline-block; white-space: nowrap; padding: .08rem .5rem; border-radius: 1rem; font-size: .78rem; font-weight: 650; background: var(--paper); color: var(--soft); }
        .pill.good { background: var(--good-soft); color: var(--good); }
        pre { margin: 0; padding: .7rem .9rem; background: var(--paper); border: 1px solid var(--line); border-radius: .55rem; overflow: auto; max-height: 28rem; font-size: .8rem; line-height: 1.5; white-space: pre-wrap; overflow-wrap: anywhere; }
        summary { cursor: pointer; font-size: .9rem; color: var(--soft); width: fit-content; }
        details[open] > summary { margin-bottom: .5rem; }
        ul.plain { list-style: none; margin: 0; padding: 0; display: grid; gap: .3rem; }
        @media (max-width: 40rem) { header { justify-content: space-between; } header .soft { order: 1; flex-basis: 100%; } .pane { padding: 1rem; } .facts > div { grid-template-columns: minmax(0, 1fr); } }
        """
}
