// Finds the Chromium of this machine, and starts it. No test logic here.
import { type Browser, chromium } from 'playwright-core'
import { findSystemProgram, type SystemProgram } from '../support/system-program.ts'

/** Finds Chromium, and installs it when this is root on Debian. */
export function findChromium(): Promise<SystemProgram> {
  const files = ['chromium', 'chromium-browser', 'google-chrome']
  const packages = ['chromium']
  return findSystemProgram({ name: 'Chromium', files, packages, isRequired: true })
}

/** Starts the browser in a folder of its own, without anything that calls home. */
export function launchChromium({ path, missing }: SystemProgram): Promise<Browser> {
  if (path === undefined) throw new Error(missing)
  return chromium.launch({
    executablePath: path,
    args: [
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      // Letters without hints and coloured edges: screenshots of two machines differ less, and are small.
      '--font-render-hinting=none',
      '--disable-lcd-text',
    ],
    // Chromium refuses to start as root with its sandbox.
    chromiumSandbox: process.getuid?.() !== 0,
  })
}
