// What the package exports: all that is imported here.

import { ModelFileError } from "./checks.js";
import { between, likelihood, not, oneOf } from "./evidence.js";
import { Model } from "./model.js";
