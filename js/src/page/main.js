// The entry of the script in a report.

import { Network } from "../engine/network.js";
import { startAskView } from "./ask_view.js";

startAskView(new Network(JSON.parse(document.getElementById("model").textContent)));
