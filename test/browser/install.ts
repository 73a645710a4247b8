// Installs the browser before the tests, where permitted. It must not fail: the tests report what is missing.
import { findChromium } from './chromium.ts'

await findChromium().catch(() => undefined)
