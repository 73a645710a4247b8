// The services and the back end that a transaction calls.
import type { Client } from '@connectrpc/connect'
import type { AccessService } from '#gen/payweave/accounts/v1/access_pb.js'
import type { AccountsService } from '#gen/payweave/accounts/v1/accounts_pb.js'
import type { MovementService } from '#gen/payweave/accounts/v1/movement_pb.js'
import type { TransferService } from '#gen/payweave/backend/v1/transfers_pb.js'
import type { QuotesService } from '#gen/payweave/quotes/v1/quotes_pb.js'

/** The calls that a transaction makes. Each may be repeated. */
export type Peers = {
  access: Pick<Client<typeof AccessService>, 'checkGrant'>
  accounts: Pick<Client<typeof AccountsService>, 'resolveSession'>
  movements: Pick<
    Client<typeof MovementService>,
    'beginMovement' | 'completeMovement' | 'cancelMovement'
  >
  quotes: Pick<
    Client<typeof QuotesService>,
    'reserveQuote' | 'confirmQuote' | 'releaseQuote' | 'updateQuoteTransaction' | 'getRate'
  >
  transfers: Pick<
    Client<typeof TransferService>,
    'createTransfer' | 'enquireTransfer' | 'cancelTransfer'
  >
}
