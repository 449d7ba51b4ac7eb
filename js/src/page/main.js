// The entry of the script in a report.

import { Network } from "../engine/network.js";
import { startAskView } from "./ask_view.js";

startAskView(new Network(JSON.parse(document.getElementById("model").textContent)));

// The model card by itself on paper.

const printButton = document.getElementById("print-card");
if (printButton !== null) {
  const alone = document.documentElement.classList;
  printButton.hidden = false;
  printButton.addEventListener("click", () => {
    alone.add("card-only");
    window.addEventListener("afterprint", () => alone.remove("card-only"), { once: true });
    window.print();
  });
}
