// Starts the one system that all ordinary system tests share, before the first of them, and stops it after the last.
import { startMesh } from '../support/mesh.ts'

/** Tests read PAYWEAVE_TEST_MESH, by `sharedMesh` of world.ts. */
export async function setup(): Promise<(() => Promise<void>) | undefined> {
  // Every group of the run asks for it, and the first one has it; the long kill test wants none.
  if (process.env['PAYWEAVE_TEST_MESH'] !== undefined) return undefined
  const mesh = await startMesh({ name: 'shared' })
  const { dataDir, portBase } = mesh
  process.env['PAYWEAVE_TEST_MESH'] = JSON.stringify({ dataDir, portBase })
  return () => mesh.remove()
}
