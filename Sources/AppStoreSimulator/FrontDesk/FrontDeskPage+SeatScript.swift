extension FrontDeskPage {
    /// The script of the buttons for seats, which a subscription for several has.
    static let seatScript: StaticString = #"""
        const setSeats = (account, { productID }) => ({
          label: "Set seats", title: "Set the number of seats from the next period on",
          fields: [{ name: "count", label: "Seats", type: "number", min: 1, max: 10000, required: true, value: "1", hint: "More seats than now are bought, not set" }],
          plan: ({ count = "1" }) => ({ call: ["POST", accountPath(account, "set-seats"), { productID, count: Number(count) }],
            command: command("seats set", [account, productID, count]), done: "The subscription renews with " + count + " seats." }),
        });
        const memberAction = (account, { productID }, label, word, done) => ({
          label, title: label + " of " + productID,
          fields: [{ name: "member", label: "Member", options: state.accounts.filter(({ name }) => name !== account).map(({ name }) => [name, name]) }],
          plan: ({ member = "" }) => ({ call: ["POST", accountPath(account, word + "-seat"), { productID, member }],
            command: command("seats " + word, [account, productID, member]), done: member + done }),
        });
        // How many seats of a subscription are free, and who has the others. A claim may be for no known member.
        const seatsText = ({ originalTransactionID }) => {
          const seats = state.seats.find((each) => each.originalTransactionID === originalTransactionID);
          if (!seats) return null;
          const members = seats.taken.map(({ account, claimID }) => account || "claim " + claimID).join(", ");
          return seats.total + " seats, " + seats.available + " free" + (members ? ": " + members : "") + ".";
        };
        const seatButtons = (account, subscription) => {
          if (!claims(subscription.signedTransaction).multiSeatInfo) return null;
          return [
            setSeats(account, subscription), memberAction(account, subscription, "Assign a seat", "assign", " has a seat."),
            memberAction(account, subscription, "Remove a seat", "remove", " has no seat."),
          ].map((action) => button(action, subscription.productID));
        };

        """#
}
