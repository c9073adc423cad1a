#!/usr/bin/env node
import '../dist/src/cli/start.js';
