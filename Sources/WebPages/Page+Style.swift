extension Page {
    /// The style sheet of every page, for phones and larger screens, in the light or dark appearance of the system.
    static let style = """

        :root {
          color-scheme: light dark;
          --paper: #fbfaf8; --card: #ffffff; --ink: #1d2129; --soft: #626975; --line: #dedbd4; --accent: #2557c7;
          --accent-soft: #e6edfb; --on-accent: #ffffff; --error: #b3261e; --error-soft: #fbe9e7;
          --warning: #8a5a00; --warning-soft: #fdf1d8; --shadow: 0 1px 2px rgb(20 24 32 / .06), 0 6px 20px rgb(20 24 32 / .05);
        }
        @media (prefers-color-scheme: dark) {
          :root {
            --paper: #14171c; --card: #1c2027; --ink: #e8eaee; --soft: #9aa3b0; --line: #323944; --accent: #8db1ff;
            --accent-soft: #22304d; --on-accent: #10182b; --error: #ff9d94; --error-soft: #3d2220;
            --warning: #f0c265; --warning-soft: #3a2f18; --shadow: none;
          }
        }
        *, *::before, *::after { box-sizing: border-box; }
        html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
        body {
          margin: 0; background: var(--paper); color: var(--ink);
          font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
        }
        h1, h2, h3 { line-height: 1.25; margin: 0; text-wrap: balance; overflow-wrap: anywhere; }
        h1 { font-size: 1.5rem; letter-spacing: -.01em; }
        h2 { font-size: 1.15rem; }
        h3 { font-size: .8rem; font-weight: 600; color: var(--soft); }
        p { margin: 0; }
        a { color: var(--accent); text-underline-offset: .15em; }
        code, .code { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: .875em; overflow-wrap: anywhere; }
        button, input, select { font: inherit; color: inherit; }
        :focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
        .page { max-width: 44rem; margin: 0 auto; padding: 2rem 1rem 3rem; display: grid; gap: 1.25rem; }
        .card { background: var(--card); border: 1px solid var(--line); border-radius: .75rem; box-shadow: var(--shadow); min-width: 0; }
        .soft { color: var(--soft); }
        .hidden-label { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
        [hidden] { display: none !important; }
        @media (prefers-reduced-motion: reduce) { * { transition: none !important; scroll-behavior: auto !important; } }

        """
}
