// The system that a campaign breaks: a local start with links between its processes, and the merchant's servers.
import fs from 'node:fs'
import path from 'node:path'
import { portOffsets } from '#platform/config/setting.ts'
import { type Mesh, startMesh } from '../../../test/support/mesh.ts'
import { temporaryFolder } from '../../../test/support/servers.ts'
import { mountSmallDisk, type SmallDisk } from '../../../test/support/small-disk.ts'
import { type Api, openApi } from '../load/api.ts'
import { type Receivers, startReceivers } from '../load/receivers.ts'
import { type Link, openLink } from './link.ts'

/** Processes that others call, with the setting that leads there. */
const linked = {
  payments: 'PAYMENTS_URL',
  accounts: 'ACCOUNTS_URL',
  institution: 'INSTITUTION_URL',
  quotes: 'QUOTES_URL',
  billing: 'BILLING_URL',
  delivery: 'DELIVERY_URL',
  simulator: 'BACKEND_URL',
} as const
/** Servers that all processes of ours use, with the variable that ./start.ts reads and the port offset. */
const stores = {
  postgres: { variable: 'CAMPAIGN_POSTGRES_PORT', offset: 20 },
  nats: { variable: 'CAMPAIGN_NATS_PORT', offset: 21 },
} as const
export type LinkedStore = keyof typeof stores
const linkedStores = Object.keys(stores) as LinkedStore[]
type LinkedService = keyof typeof linked
export type Linked = LinkedService | LinkedStore
export const linkedParts = Object.keys(linked) as LinkedService[]

/** A running system with everything that faults need. */
export type System = {
  mesh: Mesh
  links: Record<Linked, Link>
  receivers: Receivers
  api: Api
  /** A client of another project, to whom everything of the first one is unknown. */
  stranger: Api
  /** The disk of everything and that of NATS, where they could be mounted. */
  disks: { whole: SmallDisk; nats: SmallDisk } | undefined
  /** Stops all of it, and removes its data unless they are in a given folder; rejects when something does not stop. */
  close(): Promise<void>
}

/** How it is started. */
export type SystemOptions = {
  /** Whether it gets small disks, which faults can fill. Needs root. */
  hasDisks: boolean
  /** Whether calls between processes go over links. */
  hasLinks: boolean
  /** Data of an earlier run to go on with, or where to make it; it stays. A new folder that goes, if not given. */
  data?: string | undefined
}

/** Ten minutes more. */
const patience = Array.from({ length: 30 }, () => '20')

/**
 * Faster than the ones of a local start where a campaign would wait, and more patient where one would give up: a receiver may
 * fail for a minute, and a biller be away.
 */
const settings = {
  BILLER_TIMEOUT_S: '4',
  ENQUIRY_SCHEDULE_S: ['2,5,10,10,10,10,10', ...patience].join(),
  DELIVERY_SCHEDULE_S: ['1,2,5,5,5,10,10,10,10', ...patience].join(),
  // Nobody pays these in the load.
  PAYMENT_TTL_DIRECT_POS_S: '10',
}
const receiverCount = 2
const wholeMebibytes = 3_000
const natsMebibytes = 256

/** Starts it, and waits until it is ready. */
export async function startSystem({ hasDisks, hasLinks, data }: SystemOptions): Promise<System> {
  const folder = data ?? temporaryFolder('campaign')
  const disks = hasDisks && data === undefined ? mountDisks(folder) : undefined
  const remove = () => data === undefined && removeFolder(folder, disks)
  const entries = await Promise.all(
    [...linkedParts, ...linkedStores].map(async (part) => [part, await openLink()] as const),
  )
  const links = Object.fromEntries(entries) as Record<Linked, Link>
  const urls = {
    ...Object.fromEntries(linkedParts.map((part) => [linked[part], links[part].url])),
    ...Object.fromEntries(
      linkedStores.map((store) => [stores[store].variable, new URL(links[store].url).port]),
    ),
  }
  const closeLinks = () => {
    for (const [, link] of entries) link.close()
  }
  try {
    const mesh = await startMesh({
      folder: path.join(folder, 'mesh'),
      settings: { ...settings, ...(hasLinks && urls) },
      script: path.join(import.meta.dirname, 'start.ts'),
      // Before its processes call each other.
      onPorts: (portBase) => {
        for (const part of linkedParts) links[part].leadTo(portBase + portOffsets[part])
        for (const store of linkedStores) links[store].leadTo(portBase + stores[store].offset)
      },
    })
    const receivers = await startReceivers(receiverCount, () => mesh.sandbox)
    const api = openApi(mesh.sandbox)
    const stranger = openApi(mesh.sandbox, 'other')
    return {
      mesh,
      links,
      receivers,
      api,
      stranger,
      disks,
      async close() {
        await Promise.all([api.close(), stranger.close(), receivers.close()])
        await mesh.stop()
        closeLinks()
        remove()
      },
    }
  } catch (error) {
    closeLinks()
    remove()
    throw error
  }
}

function mountDisks(folder: string): System['disks'] {
  const whole = mountSmallDisk(folder, wholeMebibytes)
  if (typeof whole === 'string') return undefined
  const natsFolder = path.join(folder, 'mesh', 'data', 'nats')
  fs.mkdirSync(natsFolder, { recursive: true, mode: 0o711 })
  const nats = mountSmallDisk(natsFolder, natsMebibytes)
  if (typeof nats !== 'string') return { whole, nats }
  whole.remove()
  return undefined
}

function removeFolder(folder: string, disks: System['disks']): void {
  if (disks === undefined) fs.rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  else {
    disks.nats.remove()
    disks.whole.remove()
  }
}
