// Installs the browser and the languages of the examples before the tests, where permitted. It must not fail: the tests report what is missing.
import { findChromium } from './chromium.ts'

await findChromium().catch(() => undefined)
await import('../support/python.ts')
await import('../support/php.ts')
