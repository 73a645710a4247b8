// Lists the packages of the image by the commands of docs/operate/releases.md, and compares the list with the lockfile.
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { expect, it } from 'vitest'
import { temporaryFolder } from '../support/servers.ts'

type Component = { name: string; version: string; scope: string; hashes: { content: string }[] }
type Locked = { version: string; integrity: string; dev?: boolean; optional?: boolean }

const root = path.join(import.meta.dirname, '..', '..')

it('the list of packages has each package of the image once, by its checksum, and no other as required', () => {
  const page = fs.readFileSync(path.join(root, 'docs/operate/releases.md'), 'utf8')
  const [, commands = ''] =
    /run by test\/deploy\/sbom\.test\.ts -->\n```sh\n(.*?)```/s.exec(page) ?? []
  const folder = temporaryFolder('sbom')
  try {
    for (const name of ['package.json', 'package-lock.json', '.npmrc'])
      fs.copyFileSync(path.join(root, name), path.join(folder, name))
    execFileSync('bash', ['-euc', commands], { cwd: folder, stdio: 'pipe' })
    const { bomFormat, components } = JSON.parse(
      fs.readFileSync(path.join(folder, 'packages.json'), 'utf8'),
    ) as { bomFormat: string; components: Component[] }
    expect(bomFormat).toBe('CycloneDX')
    const listed = components
      .filter(({ scope }) => scope === 'required')
      .map(({ name, version, hashes }) => `${name}@${version} ${hashes[0]?.content}`)
    const { packages } = JSON.parse(
      fs.readFileSync(path.join(root, 'package-lock.json'), 'utf8'),
    ) as { packages: Record<string, Locked> }
    const locked = Object.entries(packages)
      .filter(([place, { dev, optional }]) => place !== '' && dev !== true && optional !== true)
      .map(([place, { version, integrity }]) => {
        const digest = Buffer.from(integrity.replace('sha512-', ''), 'base64').toString('hex')
        return `${place.split('node_modules/').at(-1)}@${version} ${digest}`
      })
    expect(locked.length).toBeGreaterThan(100)
    expect(listed.toSorted()).toEqual([...new Set(locked)].toSorted())
  } finally {
    fs.rmSync(folder, { recursive: true })
  }
}, 120_000)
