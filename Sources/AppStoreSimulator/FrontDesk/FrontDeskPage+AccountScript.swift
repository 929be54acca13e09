extension FrontDeskPage {
    /// The script of the accounts, their devices, and their families.
    static let accountScript: StaticString = #"""
        const accountPath = (name, ...parts) => path("accounts", name, ...parts);
        const chosen = () => state.accounts.find((account) => account.name === state.account);
        const onOff = (isOn) => isOn ? "on" : "off";

        const drawAccounts = () => {
          $("no-accounts").hidden = state.accounts.length > 0;
          draw($("accounts"), [state.accounts, state.account], () => state.accounts.map((account) => make("li", {},
            make("a", { href: "#/account/" + encodeURIComponent(account.name), "data-key": "account " + account.name,
              "aria-current": account.name === state.account ? "true" : undefined },
              make("span", { class: "name" }, account.name),
              make("span", { class: "soft" }, [account.storefront, account.family && "family " + account.family].filter(Boolean).join(" · "))))));
          $("desk").hidden = !chosen();
        };

        // The toggles of an account: the member, the option of the command, and the label.
        const toggles = [
          ["canMakePayments", "--payments", "Can make payments"], ["askToBuy", "--ask-to-buy", "Ask to Buy"],
          ["interruptedPurchases", "--interrupted-purchases", "Interrupted purchases"],
        ];
        const toggle = (account, [member, option, label]) => {
          const id = "toggle-" + member, isOn = account[member] === true;
          const plan = { call: ["PATCH", accountPath(account.name), { [member]: !isOn }], command: command("account set", [account.name], [option, onOff(!isOn)]),
            done: label + " is " + onOff(!isOn) + " for " + account.name + "." };
          // The box shows the store's value, even if the store refuses the change.
          const box = make("input", { type: "checkbox", id, checked: isOn, "data-key": id, title: plan.command, change: async () => {
            if (await perform(plan) !== true) box.checked = isOn;
          } });
          return make("div", { class: "check" }, box, make("label", { for: id }, label));
        };
        const changeStorefront = (account) => ({
          label: "Change storefront", title: "Change the storefront of " + account.name,
          fields: [{ name: "storefront", label: "Storefront", value: account.storefront, required: true, pattern: "[A-Z]{3}", maxlength: 3, hint: "Three capital letters, such as USA or DEU" }],
          plan: ({ storefront = account.storefront }) => ({ call: ["PATCH", accountPath(account.name), { storefront }],
            command: command("account set", [account.name], ["--storefront", storefront]), done: account.name + " is in the storefront " + storefront + "." }),
        });
        const signIn = (account) => ({
          label: "Sign in a new device",
          plan: () => ({ call: ["POST", accountPath(account.name, "devices")], command: command("device sign-in", [account.name]),
            done: (device) => "The device " + device.deviceID + " is signed in to " + account.name + "." }),
        });
        const rescindConsent = (account) => ({
          label: "Rescind consent", title: "Rescind the consent of a parent for " + account.name + "?", isRisky: true, submitLabel: "Rescind consent",
          warning: "The store tells the app's server that the child may no longer use the app. The purchases stay as they are.",
          plan: () => ({ call: ["POST", accountPath(account.name, "rescind-consent")], command: command("account rescind-consent", [account.name]),
            done: "The consent for " + account.name + " is rescinded. The store sends the notification RESCIND_CONSENT." }),
        });
        const switchDevice = (device) => ({
          label: "Switch account", title: "Sign in the device " + device.deviceID + " to another account", submitLabel: "Switch account",
          fields: [{ name: "account", label: "Account", options: state.accounts.filter((account) => account.name !== device.account).map((account) => [account.name, account.name]) }],
          plan: ({ account = "" }) => ({ call: ["PUT", path("devices", device.deviceID, "account"), { account }],
            command: command("device switch", [device.deviceID, account]), done: "The device " + device.deviceID + " is signed in to " + account + "." }),
        });
        const signOut = (device) => ({
          label: "Sign out", title: "Sign out the device " + device.deviceID + "?", isRisky: true,
          warning: "The app on this device then gets no updates. The identifier of the device cannot be used again.",
          plan: () => ({ call: ["DELETE", path("devices", device.deviceID)], command: command("device sign-out", [device.deviceID]),
            done: "The device " + device.deviceID + " is signed out." }),
        });

        const drawAccount = () => {
          const account = chosen();
          if (!account) return;
          $("account-title").textContent = account.name;
          draw($("account"), [account, state.devices, state.accounts.length], () => [
            make("dl", { class: "facts" },
              make("div", {}, make("dt", {}, "Storefront"), make("dd", {}, account.storefront, " ", button(changeStorefront(account)))),
              make("div", {}, make("dt", {}, "Family"), make("dd", {}, account.family || "none"))),
            make("fieldset", {}, make("legend", {}, "Purchases of this account"), toggles.map((entry) => toggle(account, entry))),
            make("h3", {}, "Devices"),
            state.devices.length === 0 && make("p", { class: "soft" }, "No device is signed in. The app's SDK signs one in, or this page does."),
            make("ul", { class: "list", "aria-label": "Devices" }, state.devices.map((device) => make("li", { class: "line" }, make("code", {}, device.deviceID),
              make("span", { class: "buttons" }, state.accounts.length > 1 && button(switchDevice(device), device.deviceID), button(signOut(device), device.deviceID))))),
            make("div", { class: "buttons" }, button(signIn(account)), button(rescindConsent(account), "for " + account.name)),
          ]);
        };

        $("new-account").addEventListener("submit", async (event) => {
          event.preventDefault();
          const name = $("account-name").value.trim(), storefront = $("account-storefront").value.trim();
          const body = storefront ? { name, storefront } : { name };
          const isDone = await perform({ call: ["POST", path("accounts"), body], command: command("account create", [name], storefront ? ["--storefront", storefront] : []),
            done: "The account " + name + " is created." });
          if (isDone !== true) return;
          // The next name can be in the field already.
          if ($("account-name").value.trim() === name) event.target.reset();
          location.hash = "/account/" + encodeURIComponent(name);
        });

        """#

    static let familyScript: StaticString = #"""
        const join = (family) => ({
          label: "Add a member", title: "Add a member to the family " + family.name, submitLabel: "Add",
          fields: [{ name: "account", label: "Account", options: state.accounts.filter((account) => !account.family).map((account) => [account.name, account.name]) }],
          plan: ({ account = "" }) => ({ call: ["POST", path("families", family.name, "members"), { account }], command: command("family join", [family.name, account]),
            done: account + " belongs to the family " + family.name + "." }),
        });
        const leave = (family, member) => {
          const isOrganizer = member === family.organizer;
          return {
            label: "Remove", title: isOrganizer ? "Remove the organizer " + member + " and end the family?" : "Remove " + member + " from the family?", isRisky: true,
            submitLabel: isOrganizer ? "End the family" : "Remove",
            warning: isOrganizer ? "The family ends, and every member loses what others shared." : member + " loses what the family shared, and the family loses what " + member + " shared.",
            plan: () => ({ call: ["DELETE", path("families", family.name, "members", member)], command: command("family leave", [family.name, member]),
              done: isOrganizer ? "The family " + family.name + " has ended." : member + " has left the family " + family.name + "." }),
          };
        };

        const drawFamilies = () => {
          draw($("families"), [state.families, state.accounts], () => state.families.length === 0 ? make("li", { class: "soft" }, "There are no families.")
            : state.families.map((family) => make("li", {}, make("div", { class: "line" }, make("h3", {}, family.name), button(join(family), "to the family " + family.name)),
              make("ul", { class: "list", "aria-label": "Members of " + family.name }, family.members.map((member) => make("li", { class: "line" },
                make("span", {}, member, member === family.organizer && [" ", pill("organizer", "plain")]),
                button(leave(family, member), member + " from " + family.name)))))));
          const free = state.accounts.filter((account) => !account.family);
          draw($("family-organizer"), free, () => free.map((account) => make("option", { value: account.name }, account.name)));
        };

        $("new-family").addEventListener("submit", async (event) => {
          event.preventDefault();
          const name = $("family-name").value.trim(), organizer = $("family-organizer").value;
          const isDone = await perform({ call: ["POST", path("families"), { name, organizer }], command: command("family create", [name, organizer]),
            done: "The family " + name + " is created. Its organizer is " + organizer + "." });
          if (isDone === true && $("family-name").value.trim() === name) event.target.reset();
        });

        """#
}
