// The entry of the script in a report.

import { Model } from "../engine/model.js";
import { startAskView } from "./ask_view.js";

startAskView(new Model(JSON.parse(document.getElementById("model").textContent)));
