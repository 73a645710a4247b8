// The texts of hosted pages in Spanish; no markup.

import type { Messages } from './en.ts'
/** Spanish. */
export const es: Messages = {
  languageName: 'Español',
  chooseLanguage: 'Idioma',

  openTitle: 'Solicitud de pago',
  refusedTitle: 'Pago rechazado: puede intentarlo de nuevo',
  refusedText: 'El último intento fue rechazado y no se cobró nada. Intentos restantes: {count}.',
  partOfText: 'Esta es su parte de una solicitud de {whole} en total.',
  partlyPaidText:
    'Otros ya pagaron {paid} de {whole}. Quedan {rest} por pagar, de los cuales su parte es {amount}.',
  processingTitle: 'Su pago se está procesando',
  processingText: 'Espere y no pague de nuevo. Esta página se actualiza sola.',
  paidTitle: 'Pagado',
  paidText: 'Gracias. El comercio ha sido informado.',
  yourPartPaidTitle: 'Su parte está pagada',
  yourPartPaidText:
    'Gracias. Hasta ahora se pagaron {paid} de {whole}. Otros aún deben pagar {rest}.',
  paidOfWhole: 'Pagado: {paid} de {whole}',
  cancelledTitle: 'Esta solicitud de pago fue cancelada',
  cancelledText: 'El comercio la canceló. Ya no se puede pagar aquí.',
  expiredTitle: 'Esta solicitud de pago ha caducado',
  expiredText: 'El plazo para pagar ha terminado. Pida un enlace nuevo al comercio.',
  failedTitle: 'Este pago ha fallado',
  failedText: 'Ya no se puede pagar aquí. Pida un enlace nuevo al comercio.',
  refundedTitle: 'Su dinero está en camino de vuelta',
  refundedText: 'El pago fue reembolsado.',

  amount: 'Importe',
  fee: 'Comisión',
  total: 'Total a pagar',
  payUntil: 'Pagar antes de',
  waysToPay: 'Formas de pago',

  cash: 'Efectivo',
  card: 'Tarjeta',
  wallet: 'Monedero móvil',
  credit: 'Tarjeta de crédito',
  debit: 'Tarjeta de débito',
  qr_code: 'Código QR',
  payWith: 'Pagar con: {method}',

  scanTitle: 'Escanear para pagar',
  scanText: 'Escanee este código con la cámara de un teléfono o abra este enlace:',
  qrLabel: 'Código QR de la dirección de esta página',

  walletTitle: 'Pagar con su monedero móvil',
  pinLabel: 'PIN del monedero',
  pinHint: 'De 4 a 12 cifras',
  mistakeTitle: 'Corrija esto',
  pinMistake: 'Un PIN tiene de 4 a 12 cifras. No se pagó nada.',
  pay: 'Pagar {total}',

  cardTitle: 'Pagar con tarjeta',
  cardFrame: 'Formulario de tarjeta del proveedor de pagos',
  cardUnavailable: 'El formulario de tarjeta no está disponible ahora. Inténtelo en un minuto.',

  agentTitle: 'Pagar en un agente',
  agentText: 'Muestre este código en el mostrador, en pantalla o impreso:',
  print: 'Imprimir esta página',

  refresh: 'Actualizar esta página',
  backTo: 'Volver a {merchant}',
  openPage: 'Abrir la página de pago',

  notFoundTitle: 'No encontrado',
  notFoundText:
    'No hay nada en esta dirección. Compruebe el enlace o pida uno nuevo a quien se lo envió.',
  unavailableTitle: 'Inténtelo de nuevo',
  unavailableText: 'La página no está disponible en este momento.',
  foreignFormTitle: 'Abra el enlace de nuevo',
  foreignFormText: 'Este formulario no se envió desde su propia página o es demasiado antiguo.',
  tooManyTitle: 'Demasiadas solicitudes',
  tooManyText: 'Espere un momento e inténtelo de nuevo.',
}
