// Starts the institution service, which has no RPC of its own yet.
import { runBareService } from '#runtime/bare-service.ts'

runBareService('institution')
