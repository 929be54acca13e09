extension ViewDocumentForm {
    static let style: StaticString = """
        .group { padding: .35rem 1.2rem; }
        .group h2 { padding-top: .85rem; font-size: 1rem; }
        .rows { list-style: none; margin: 0; padding: 0; }
        .rows li { display: flex; flex-wrap: wrap; align-items: center; justify-content: space-between; gap: .4rem 1.5rem; padding: .75rem 0; }
        .rows li + li { border-top: 1px solid var(--line); }
        .rows label, .rows span[id] { min-width: 0; overflow-wrap: anywhere; }
        .control, .control form { display: flex; flex-wrap: wrap; align-items: center; gap: .5rem; min-width: 0; }
        .value { color: var(--soft); overflow-wrap: anywhere; }
        .actions { display: flex; flex-wrap: wrap; gap: .6rem; padding: .75rem 0; }
        .rows + .actions { border-top: 1px solid var(--line); }
        button { padding: .4rem .9rem; border: 1px solid var(--line); border-radius: .55rem; background: var(--paper); cursor: pointer; min-height: 2.4rem; }
        button:hover:not(:disabled) { border-color: var(--accent); color: var(--accent); }
        input:not([type=hidden]), select { padding: .4rem .7rem; border: 1px solid var(--line); border-radius: .55rem; background: var(--paper); min-height: 2.4rem; width: 15rem; max-width: 100%; }
        ::placeholder { color: var(--soft); opacity: 1; }
        :disabled { opacity: .55; cursor: default; }
        .switch { position: relative; width: 3.1rem; min-height: 1.8rem; padding: 0; border-radius: 1rem; background: var(--line); border: 1px solid transparent; }
        .switch::after { content: ""; position: absolute; top: .12rem; left: .14rem; width: 1.4rem; height: 1.4rem; border-radius: 50%; background: #ffffff; box-shadow: 0 1px 2px rgb(0 0 0 / .3); transition: transform .15s; }
        .switch[aria-checked=true] { background: var(--accent); }
        .switch[aria-checked=true]::after { transform: translateX(1.26rem); }
        .segments { display: inline-flex; flex-wrap: wrap; border: 1px solid var(--line); border-radius: .6rem; background: var(--paper); padding: .15rem; gap: .15rem; }
        .segments button { border-color: transparent; background: none; min-height: 2.1rem; }
        .segments button[aria-pressed=true] { background: var(--accent); color: var(--on-accent); }
        @media (max-width: 30rem) { .control form:has(input:not([type=hidden]), select) { flex-wrap: nowrap; width: 100%; } .control:has(input:not([type=hidden]), select) { flex-basis: 100%; } input:not([type=hidden]), select { flex: 1; width: auto; min-width: 0; } }
        """
}
