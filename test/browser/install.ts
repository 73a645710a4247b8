// Installs the browser of the tests ahead of them, where it may. It must not fail: the tests tell what is missing.
import { findChromium } from './chromium.ts'

await findChromium().catch(() => undefined)
