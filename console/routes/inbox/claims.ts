// Who works on what waits for a person: shows it, and lets people claim an item, release it or take it over.
import type { FastifyInstance } from 'fastify'
import { Failure, invalid } from '#core/errors/errors.ts'
import { type ItemClaim, ItemKind } from '#gen/payweave/accounts/v1/item_claim_pb.js'
import { itemEndings } from '#platform/rpc/auth/roles.ts'
import type { Clients } from '../../clients.ts'
import { ownPath } from '../../http/guard.ts'
import type { Work, Worker } from '../../http/work.ts'
import { type Cell, type Form, type Notices, text } from '../../pages/blocks.ts'
import { valueOf } from '../../pages/words.ts'
import { type NameOf, recordName } from '../../sign-in/people.ts'
import { formId } from '../list.ts'

type Options = { worker: Worker; clients: Clients }

/** A kind of what waits. */
type Kind = keyof typeof itemEndings

/** Registers what changes claims: `/inbox/claims` and `/inbox/releases`. Both lead back to the page of the form. */
export function registerClaims(app: FastifyInstance, { worker, clients }: Options): void {
  app.post(
    '/inbox/claims',
    worker.page(async (work) => {
      const { reply, form } = work
      const wanted = { item: itemOf(form), takeOverFrom: form.get('from') ?? '' }
      await claimNamed(work, () => clients.claims.claimItem(wanted))
      return reply.redirect(backOf(form, 'claimed'), 303)
    }),
  )
  app.post(
    '/inbox/releases',
    worker.page(async (work) => {
      const { reply, form } = work
      const item = itemOf(form)
      await claimNamed(work, () => clients.claims.releaseItem({ item }))
      return reply.redirect(backOf(form, 'released'), 303)
    }),
  )
}

/** What a page says after a claim has changed, by `notice` of its address. */
export const claimNotices: Notices = {
  claimed: 'You work on this now. Others see your name, and can take it over.',
  released: 'The item is released.',
}

function itemOf(form: URLSearchParams) {
  const kind = valueOf(ItemKind, form.get('kind'))
  if (kind === undefined) throw invalid('kind', 'must be that of an item')
  return { kind, itemId: formId(form, 'item_id') }
}

function backOf(form: URLSearchParams, notice: string): string {
  const { pathname, searchParams } = new URL(ownPath(form.get('back')), 'http://localhost')
  searchParams.set('notice', notice)
  return `${pathname}?${searchParams.toString()}`
}

/** Decides on an item that nobody else has. ITEM_CLAIMED where someone else has it, and as `decide` rejects. */
export async function decideClaimed<T>(
  work: Pick<Work, 'namesOf'>,
  { claims }: Clients,
  kind: Kind,
  itemId: string,
  decide: () => Promise<T>,
): Promise<T> {
  const item = { kind: valueOf(ItemKind, kind) ?? ItemKind.UNSPECIFIED, itemId }
  await claimNamed(work, () => claims.claimItem({ item }))
  const decided = await decide()
  // The decision stands. A claim that stays is shown with its holder, and ends by itself.
  await claims.releaseItem({ item }).catch((error: unknown) => {
    if (!(error instanceof Failure)) throw error
  })
  return decided
}

/** Changes a claim. ITEM_CLAIMED says who has it, as pages show them. */
async function claimNamed<T>({ namesOf }: Pick<Work, 'namesOf'>, change: () => Promise<T>) {
  return await change().catch(async (error: unknown) => {
    const isClaimed = error instanceof Failure && error.reason === 'ITEM_CLAIMED'
    const holder = isClaimed ? error.details?.['holder'] : undefined
    if (holder === undefined) throw error
    const nameOf = await namesOf([holder])
    throw new Failure('ITEM_CLAIMED', `${nameOf(holder)} works on this item`, { cause: error })
  })
}

/** The cells of an item: who has it, and what the reader can do with it. */
export type ShowClaim = (kind: Kind, itemId: string, decisions: Form[]) => [who: Cell, does: Cell]

/** The cells of items whose claims could not be read: nobody can decide on them now. */
export const noClaims: ShowClaim = () => [text(''), text('')]

const whoEnds: Record<Kind, string> = {
  onboarding: 'operators decide',
  bill: 'finance decides',
  refund: 'finance settles',
  suspense: 'finance posts its refund',
  settlement: 'finance looks into it',
  dead_letter: 'support resends',
}

/** Reads the claims on the items of a page. */
export async function readClaims(
  { request, session, may, namesOf }: Work,
  clients: Clients,
  items: readonly (readonly [kind: Kind, itemId: string])[],
): Promise<ShowClaim> {
  const wanted = items.map(([kind, itemId]) => ({ kind: valueOf(ItemKind, kind) ?? 0, itemId }))
  const { claims } =
    wanted.length === 0 ? { claims: [] } : await clients.claims.listItemClaims({ items: wanted })
  const held = new Map(claims.map((one) => [keyOf(one.item?.kind, one.item?.itemId), one]))
  const nameOf = await namesOf(claims.map(({ holder }) => holder))
  const own = recordName(session.person)
  return (kind, itemId, decisions) => {
    const claim = held.get(keyOf(valueOf(ItemKind, kind), itemId))
    const form = (action: 'claims' | 'releases', button: string, from = ''): Form => ({
      action: `/inbox/${action}`,
      button,
      rpc: `payweave.accounts.v1.ItemClaimService/${action === 'claims' ? 'ClaimItem' : 'ReleaseItem'}`,
      hidden: { kind, item_id: itemId, back: request.url, ...(from !== '' && { from }) },
    })
    const forms = () => {
      if (claim === undefined) return [form('claims', 'Claim')]
      if (claim.holder !== own) return [form('claims', 'Take over', claim.holder)]
      return [...decisions, form('releases', 'Release')]
    }
    return [
      whoOf(claim, own, nameOf),
      may(itemEndings[kind]) ? { forms: forms() } : text(whoEnds[kind]),
    ]
  }
}

function keyOf(kind: ItemKind | undefined, itemId: string | undefined): string {
  return `${kind}/${itemId}`
}

function whoOf(claim: ItemClaim | undefined, own: string, nameOf: NameOf): Cell {
  if (claim === undefined) return text('')
  const { holder, claimTime } = claim
  return { at: claimTime, by: holder === own ? 'you' : nameOf(holder) }
}
